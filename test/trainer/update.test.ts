import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { type Core, createCore } from '../../daemon/engine/onnx/core.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { update } from '../../daemon/trainer/update.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import tis from '../../plugins/corrections/tis.ts'
import { columnsOf, substitute } from '../../protocol/plugin/expression/expression.ts'
import { type Correction, expression } from '../../protocol/plugin/index.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { recordedPhases } from '../recorded-phases.ts'
import { group } from './groups.ts'
import { UPDATE } from './update-options.ts'

const corrections = [
  { name: 'clip', correction: clip.create(clipDefaults()).correct!() as Correction },
  { name: 'tis', correction: tis.create(tisDefaults()).correct!() as Correction },
]
const objective = assembleObjective(corrections)

function clipDefaults() {
  return { low: 0.2, high: 0.28, dual: 3, anchor: 'proximal' as const }
}
function tisDefaults() {
  return {
    cap: 2,
    floor: 0,
    level: 'token' as const,
    unknown: 'mask' as const,
    veto: 'row' as const,
    vetoBelow: 1e-4,
    vetoAbove: null,
    normalise: false,
    proximal: 'scored' as const,
  }
}

async function open(): Promise<{ core: Core; engine: Engine }> {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1, 0.3) })
  return { core, engine: core as unknown as Engine }
}

const random = randomStream(1, 'test')

test('leaving out the scoring pass changes nothing: the first step of a batch has a ratio of one', async () => {
  const groups = [group([1, 0, 0], { seed: 1 }), group([1, 1, 0], { seed: 2 })]
  const advantages = [
    [1.2, -0.6, -0.6],
    [0.5, 0.5, -1],
  ]
  const short = await open()
  const report = await update(groups, advantages, UPDATE, { ...short, objective, random })
  expect(report.steps).toBe(1)

  const long = await open()
  const sequences = groups.flatMap((g, i) =>
    g.rollouts.map((rollout, r) => ({
      conditioning: g.conditioning,
      completion: rollout.tokens,
      columns: {
        advantage: advantages[i]![r]!,
        behaviour: rollout.behaviourLogprobs!,
        known: 1,
        proximal: 0 as number | Float32Array,
      },
    })),
  )
  const scores = await long.core.score({ sequences, temperature: 1 })
  sequences.forEach((sequence, i) => {
    sequence.columns.proximal = scores[i]!.logprobs
  })
  const explicit = await long.core.train({
    sequences,
    objective: { loss: objective.loss, metrics: {} },
    temperature: 1,
    denominator: sequences.reduce((sum, { completion }) => sum + completion.length, 0),
    optimizer: ADAMW,
  })
  expect(report.loss).toBeCloseTo(explicit.loss, 5)
  expect(report.gradientNorm).toBeCloseTo(explicit.gradientNorm, 4)
})

test('what a trainer must watch is measured on the batch', async () => {
  const { core, engine } = await open()
  const groups = [
    group([1, 0], { seed: 1, version: 1, bornVersion: 1 }),
    group([1, 0], { seed: 2, author: 'peer', bornVersion: 2, known: false }),
  ]
  const before = await core.score({
    sequences: groups.flatMap((g) =>
      g.rollouts.map((r) => ({ conditioning: g.conditioning, completion: r.tokens })),
    ),
    temperature: 1,
  })
  const { watched } = await update(
    groups,
    [
      [1, -1],
      [1, -1],
    ],
    UPDATE,
    { engine, objective, random },
  )
  const own = groups[0]!.rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const foreign = groups[1]!.rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0)
  expect(watched.knownShare).toBeCloseTo(own / (own + foreign), 5)
  expect(watched.foreignShare).toBeCloseTo(foreign / (own + foreign), 5)
  expect(watched.staleness).toBeCloseTo((2 * own + foreign) / (own + foreign), 4)
  const gaps = groups[0]!.rollouts.flatMap((rollout, r) =>
    [...before[r]!.logprobs].map((proximal, t) => proximal - rollout.behaviourLogprobs![t]!),
  )
  const weights = gaps.map(Math.exp)
  const sum = weights.reduce((a, b) => a + b, 0)
  const squares = weights.reduce((a, b) => a + b * b, 0)
  expect(watched.effectiveSampleSize).toBeCloseTo(sum ** 2 / (squares * gaps.length), 3)
  expect(watched.mismatchKl).toBeCloseTo(
    gaps.reduce((total, d) => total + Math.exp(d) - 1 - d, 0) / gaps.length,
    3,
  )
  // Of own rollouts alone, which the guard watches.
  const entropies = before.slice(0, 2).flatMap(({ entropies }) => [...entropies])
  expect(watched.entropy).toBeCloseTo(entropies.reduce((a, b) => a + b, 0) / entropies.length, 4)
})

test('tokens whose sampler is unknown do not move the weights by default', async () => {
  const { core, engine } = await open()
  const before = core.weights()
  const own = group([1, 0])
  const advantages = [
    [0, 0],
    [1, -1],
  ]
  const groups = [own, group([1, 0], { author: 'peer', known: false })]
  await update(groups, advantages, UPDATE, { engine, objective, random })
  expect(core.weights()).toEqual(before)
})

test("a peer's part that is not finite, or rests on a few tokens, is left out and the rest is learnt", async () => {
  const { core, engine } = await open()
  const liar = group([1, 0, 1, 0, 1, 0], { seed: 3, author: 'liar' })
  // One token that was all but impossible at the peer, by its own report: all the weight is on it.
  liar.rollouts[0]!.behaviourLogprobs![0] = -19
  const broken = group([1, 0], { seed: 4, author: 'broken' })
  broken.rollouts[0]!.behaviourLogprobs![0] = Number.NaN
  const before = core.weights()
  const advantages = [
    [1, -1],
    [1, -1, 1, -1, 1, -1],
    [1, -1],
  ]
  const { parts, steps } = await update([group([1, 0]), liar, broken], advantages, UPDATE, {
    engine,
    objective,
    random,
  })
  expect(parts.map(({ author, leftOut }) => [author, leftOut])).toEqual([
    [undefined, undefined],
    ['liar', 'effective sample size'],
    ['broken', 'not finite'],
  ])
  expect(steps).toBe(1)
  expect(core.weights()).not.toEqual(before)
})

test('log-probs that are not believed count as unknown', async () => {
  const { engine } = await open()
  const groups = [group([1, 0]), group([1, 0], { author: 'liar' })]
  const given = { ...UPDATE, isBelieved: () => false }
  const advantages = groups.map(() => [1, -1])
  const { parts } = await update(groups, advantages, given, { engine, objective, random })
  expect(parts.map(({ metrics }) => metrics['watch.known'])).toEqual([1, 0])
})

test('minibatches are separate steps, of whole groups, against the policy at the start', async () => {
  const { engine } = await open()
  const groups = [1, 2, 3, 4].map((seed) => group([1, 0], { seed }))
  const report = await update(
    groups,
    groups.map(() => [1, -1]),
    { ...UPDATE, minibatches: 2, optimizer: { ...ADAMW, learningRate: 0.05 } },
    { engine, objective, random },
  )
  expect(report.steps).toBe(2)
  // The second step's ratio has moved off one.
  expect(Math.abs(report.metrics['clip.ratio']! - 1)).toBeGreaterThan(1e-4)
})

test('a step that is not finite is skipped and named', async () => {
  const { core, engine } = await open()
  const before = core.weights()
  const broken = { loss: expression.mul(expression.column('logprob'), expression.exp(1000)), metrics: {} }
  const report = await update([group([1, 0])], [[1, -1]], UPDATE, { engine, objective: broken, random })
  expect(report).toMatchObject({ steps: 0, skipped: ['loss'] })
  expect(core.weights()).toEqual(before)
})

test('substituting a column leaves the rest of an expression alone', () => {
  const replaced = substitute(objective.loss, 'proximal', expression.detach(expression.column('logprob')))
  expect(columnsOf(objective.loss)).toContain('proximal')
  expect(columnsOf(replaced)).toEqual(columnsOf(objective.loss).filter((name) => name !== 'proximal'))
})

test('an update tells how many of its tokens are trained on, while it computes', async () => {
  const core = createCore({ threads: 1, microBatchTokens: 8, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1, 0.3) })
  const groups = [group([1, 0, 0], { seed: 1 }), group([1, 1, 0], { seed: 2 })]
  const advantages = [
    [1.2, -0.6, -0.6],
    [0.5, 0.5, -1],
  ]
  const { phases, all } = recordedPhases()
  const parts = { engine: core as unknown as Engine, objective, random, phases }
  await update(groups, advantages, { ...UPDATE, minibatches: 2 }, parts)
  const [scored, trained] = all
  expect([scored!.name, trained!.name, trained!.unit]).toEqual(['score', 'train', 'tokens'])
  for (const { done, total } of [scored!, trained!]) {
    expect(done.length).toBeGreaterThan(2)
    expect(done).toEqual([...done].sort((a, b) => a - b))
    expect(done.at(-1)).toBeCloseTo(total!)
  }
  await core.close()
})
