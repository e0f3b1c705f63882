// What rows carry beside tokens: masks, a conditioning of their own, and a reference policy.

import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { rowsByAuthor } from '../../daemon/trainer/rows.ts'
import { update } from '../../daemon/trainer/update.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import kl from '../../plugins/corrections/penalties/kl.ts'
import { column } from '../../protocol/plugin/expression/expression.ts'
import type { Columns, TopTokens } from '../../protocol/plugin/index.ts'
import { randomWeights, SPEC, tokenBytes } from '../engine/model.ts'
import { withSettings } from '../plugins/samples.ts'
import { group } from './groups.ts'
import { UPDATE } from './update-options.ts'

const weights = randomWeights(SPEC, 1, 0.3)
const objectiveOf = (...plugins: Array<[typeof clip | typeof kl, object]>) =>
  assembleObjective(
    plugins.map(([plugin, given]) => ({
      name: plugin.name,
      correction: withSettings(plugin as typeof kl, { ...given }).correct!(),
    })),
  )
const objective = objectiveOf([clip, {}])
const random = randomStream(1, 'test')

function engineOf(): Engine {
  const core = createCore({ threads: 1, now: () => 0 })
  const later =
    <Given, Result>(run: (given: Given) => Result | Promise<Result>) =>
    async (given: Given): Promise<Result> =>
      run(given)
  return {
    open: later(core.open),
    score: later(core.score),
    train: later(core.train),
    weights: async () => core.weights(),
    setWeights: async (given: Parameters<typeof core.setWeights>[0]) => core.setWeights(given),
    close: async () => core.close(),
  } as Partial<Engine> as Engine
}

async function learnt(groups: ReturnType<typeof group>[], advantages: number[][]) {
  const engine = engineOf()
  await engine.open({ spec: SPEC, weights })
  const report = await update(groups, advantages, UPDATE, { engine, objective, random })
  return { report, weights: await engine.weights() }
}

test('a masked token teaches as little as if its rollout ended before it', async () => {
  const whole = group([1, 0])
  const [first, second] = whole.rollouts as [(typeof whole.rollouts)[0], (typeof whole.rollouts)[0]]
  const { length } = first.tokens
  const masked = { ...first, lossMask: Uint8Array.from(first.tokens, (_, t) => (t < length - 1 ? 1 : 0)) }
  const cut = {
    ...first,
    tokens: first.tokens.slice(0, -1),
    behaviourLogprobs: first.behaviourLogprobs!.slice(0, -1),
    segments: [{ version: 3, start: 0, length: length - 1 }],
  }
  const one = await learnt([{ ...whole, rollouts: [masked, second] }], [[1, -1]])
  const two = await learnt([{ ...whole, rollouts: [cut, second] }], [[1, -1]])
  expect(one.report.gradientNorm).toBeCloseTo(two.report.gradientNorm, 5)
  expect(one.report.loss).toBeCloseTo(two.report.loss, 5)
})

test('a rollout with a conditioning of its own is trained on after that', async () => {
  const plain = group([1, 0])
  const other = Int32Array.of(3, 1, 4, 1, 5)
  const rollouts = plain.rollouts.map((one) => ({ ...one, conditioning: other }))
  const one = await learnt([{ ...plain, rollouts }], [[1, -1]])
  const two = await learnt([{ ...plain, conditioning: other }], [[1, -1]])
  expect(one.report.gradientNorm).toBe(two.report.gradientNorm)
  expect(one.report.gradientNorm).not.toBe((await learnt([plain], [[1, -1]])).report.gradientNorm)
})

test("a correction's own column reaches the loss, as one number or by token", async () => {
  const twice = assembleObjective([
    { name: 'clip', correction: withSettings(clip).correct!() },
    { name: 'x', correction: { weight: { column: 'x.factor' }, columns: { factor: 1 } } },
  ])
  const groups = [group([1, 0])]
  const lossWith = async (columns: Columns): Promise<number> => {
    const engine = engineOf()
    await engine.open({ spec: SPEC, weights })
    const parts = { engine, objective: twice, random }
    return (await update(groups, [[1, -1]], { ...UPDATE, columns }, parts)).loss
  }
  const [first, second] = groups[0]!.rollouts.map(({ tokens }) => tokens.length) as [number, number]
  // Before the first step every ratio is 1, so that the loss is minus the mean of factor times advantage.
  expect(await lossWith({ 'x.factor': 3 })).toBeCloseTo((-3 * (first - second)) / (first + second), 5)
  const byToken = Float32Array.from({ length: second }, (_, t) => (t === 0 ? 5 : 0))
  expect(await lossWith({ 'x.factor': [[2, byToken]] })).toBeCloseTo((-2 * first + 5) / (first + second), 5)
})

test('the reference is the policy that training began with, and stays it while the policy learns', async () => {
  const engine = engineOf()
  const model = {
    spec: SPEC,
    weights,
    digest: 'a',
    tokenizer: { digest: 'b', tokenBytes },
  } as unknown as Model
  const policy = await openPolicy({ model }, { sampler: engine, trainer: engine })
  const withPenalty = objectiveOf([clip, {}], [kl, { coefficient: 0, estimator: 'k2' }])
  const groups = [group([1, 0]), group([0, 1], { seed: 2 })]
  const distances: number[] = []
  for (let step = 0; step < 3; step++) {
    const { metrics, steps } = await update(
      groups,
      [
        [1, -1],
        [-1, 1],
      ],
      UPDATE,
      {
        engine,
        objective: withPenalty,
        random,
        reference: (request) => policy.under(policy.initial, ({ score }) => score(request)),
      },
    )
    distances.push(metrics['kl.divergence']!)
    await policy.advance(steps)
  }
  expect(distances[0]).toBe(0)
  expect(distances[1]).toBeGreaterThan(0)
  expect(distances[2]).toBeGreaterThan(distances[1]!)
  // Scoring the reference leaves the weights as they are.
  const before = await engine.weights()
  await policy.under(policy.initial, ({ score }) =>
    score({
      sequences: [{ conditioning: groups[0]!.conditioning, completion: groups[0]!.rollouts[0]!.tokens }],
      temperature: 1,
    }),
  )
  expect(await engine.weights()).toEqual(before)
})

test('an objective that reads a reference is refused where there is none', async () => {
  const engine = engineOf()
  await engine.open({ spec: SPEC, weights })
  const parts = { engine, objective: objectiveOf([clip, {}], [kl, {}]), random }
  await expect(update([group([1, 0])], [[1, -1]], UPDATE, parts)).rejects.toThrow('reference')
})

test("only this node's own answers have a teacher, and learn what it says", async () => {
  const engine = engineOf()
  await engine.open({ spec: SPEC, weights })
  const own = group([1, 0])
  const groups = [own, group([1, 0], { seed: 2, author: 'peer' })]
  const tops = (of: typeof own): (TopTokens | undefined)[] =>
    of.rollouts.map(({ tokens }) => ({
      count: 1,
      tokens: tokens.slice(),
      logprobs: new Float32Array(tokens.length).fill(-0.01),
    }))
  const teaching = groups.map(tops)
  const advantages = groups.map(({ rollouts }) => rollouts.map(() => 0))
  const rows = rowsByAuthor(groups, advantages, { ...UPDATE, teaching })
  expect(rows.own.flat().every(({ teacher }) => teacher !== undefined)).toBe(true)
  expect(rows.foreign.flatMap(({ groups: theirs }) => theirs.flat()).some(({ teacher }) => teacher)).toBe(
    false,
  )

  const loss = column('divergence')
  const parts = { engine, objective: { loss, metrics: { divergence: loss } }, random }
  const divergences: number[] = []
  for (let step = 0; step < 4; step++) {
    const report = await update([own], [[0, 0]], { ...UPDATE, teaching: [tops(own)] }, parts)
    divergences.push(report.metrics.divergence!)
  }
  expect(divergences[3]).toBeLessThan(divergences[0]!)
})
