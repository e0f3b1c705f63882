// The two engines against each other: log-probs, every weight's gradient, and a stretch of training. Their gradients
// come from different rules (ours in daemon/engine/onnx, TensorFlow's), over different layouts of the batch.
//
// With beta1 = 0 and no clipping, AdamW's first moment after one step is the gradient itself, so that the contract
// shows it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DecoderSpec, trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine, Objective, TrainRequest } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { CORRECTIONS, LOSSES } from '../../plugins/corrections/index.ts'
import { ADAMW, randomTokens, randomWeights, SPEC, uniform } from '../engine/model.ts'
import { withSettings } from '../plugins/samples.ts'
import { stepOf } from './engine-cases.ts'
import { ADAPTED, EVERY_OPTION, FAMILIES } from './families.ts'

const SCALE = 0.3
let ours: Engine
let theirs: Engine
beforeAll(async () => {
  ours = createOnnxEngine({ threads: 1 })
  theirs = await createTfjsEngine()
})
afterAll(() => Promise.all([ours.close(), theirs.close()]))

async function openBoth(spec: DecoderSpec): Promise<void> {
  const weights = randomWeights(spec, 7, SCALE)
  for (const engine of [ours, theirs]) await engine.open({ spec, weights })
}

function objectiveOf(names: readonly string[]): Objective {
  return assembleObjective(
    names.map((name) => {
      const plugin = CORRECTIONS.find((one) => one.name === name)!
      return { name, correction: withSettings(plugin).correct!() }
    }),
  )
}

/** Columns that corrections compute, by their names in an objective. */
const OWN_COLUMNS = CORRECTIONS.flatMap((plugin) =>
  Object.keys(withSettings(plugin).correct?.().columns ?? {}).map((name) => `${plugin.name}.${name}`),
)

/** Ragged groups, from samplers that have drifted: some tokens clipped, some weights cut, some samplers unknown. */
async function drifted(spec: DecoderSpec, seed: number): Promise<TrainRequest['sequences']> {
  const random = uniform(seed)
  const sequences = [4, 3, 1].flatMap((size, group) => {
    const conditioning = randomTokens(spec, 1 + group * 6, seed + group)
    return Array.from({ length: size }, (_, row) => ({
      conditioning,
      completion: randomTokens(spec, 1 + ((row * 7 + group * 3) % 12), seed * 31 + group * 7 + row),
    }))
  })
  const scores = await ours.score({ sequences, temperature: 1, top: 4 })
  return sequences.map((sequence, i) => {
    const near = (by: number) => scores[i]!.logprobs.map((logprob) => logprob + (random() * 2 - 1) * by)
    const columns = {
      advantage: random() * 4 - 2,
      proximal: near(0.5),
      reference: near(0.5),
      behaviour: near(0.8),
      known: i === 2 ? 0 : 1,
      staleness: i % 3,
      foreign: i % 2,
      truncated: 0,
      ...Object.fromEntries(OWN_COLUMNS.map((name) => [name, i % 2])),
    }
    // A teacher that is surer of all that this model finds likely.
    const { count, tokens, logprobs } = scores[i]!.top!
    const teacher = { count, tokens, logprobs: logprobs.map((logprob) => 0.8 * logprob - 0.02) }
    return { ...sequence, columns, teacher }
  })
}

async function gradientsOf(engine: Engine, spec: DecoderSpec, request: TrainRequest): Promise<Weights> {
  await engine.open({ spec, weights: randomWeights(spec, 7, SCALE) })
  const report = await engine.train({ ...request, optimizer: { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 } })
  expect(report.applied).toBe(true)
  return (await engine.optimizer()).first
}

interface Apart {
  /** Largest |a - b| / |b| of a tensor, by 2-norms; a tensor's own, or a thousandth of all of them if that is more. */
  norm: number
  /** Largest |a - b| of an element, over its size or the root mean square of its tensor if that is more. */
  element: number
}

function compare(spec: DecoderSpec, a: Weights, b: Weights): Apart {
  const all = Math.hypot(...Object.values(b).map(norm))
  expect(all).toBeGreaterThan(1e-3)
  const apart: Apart = { norm: 0, element: 0 }
  for (const name of trainableShapes(spec).keys()) {
    const [x, y] = [a[name]!, b[name]!]
    const differences = x.map((value, i) => value - y[i]!)
    apart.norm = Math.max(apart.norm, norm(differences) / Math.max(norm(y), 1e-3 * all))
    const floor = Math.max(norm(y), 1e-3 * all) / Math.sqrt(y.length)
    differences.forEach((difference, i) => {
      apart.element = Math.max(apart.element, Math.abs(difference) / Math.max(Math.abs(y[i]!), floor))
    })
  }
  return apart
}

function norm(values: Float32Array): number {
  let sum = 0
  for (const value of values) sum += value * value
  return Math.sqrt(sum)
}

const SPECS: [string, DecoderSpec][] = [
  ...FAMILIES,
  EVERY_OPTION,
  ADAPTED,
  [
    'everything at once, three layers',
    {
      ...SPEC,
      layers: 3,
      heads: 6,
      kvHeads: 3,
      attentionBias: true,
      queryKeyNorm: true,
      tiedEmbeddings: false,
      normEpsilon: 1e-6,
    },
  ],
]

describe.each(SPECS)('two engines, %s', (_, spec) => {
  test('log-probs, entropies, collisions and places agree to 1e-5', async () => {
    await openBoth(spec)
    for (const temperature of [1, 0.6]) {
      const request = { sequences: await drifted(spec, 3), temperature, pit: true }
      const [a, b] = [await ours.score(request), await theirs.score(request)]
      const differences = a.flatMap((score, i) => [
        ...score.logprobs.map((value, t) => Math.abs(value - b[i]!.logprobs[t]!)),
        ...score.entropies.map((value, t) => Math.abs(value - b[i]!.entropies[t]!)),
        ...score.collisions.map((value, t) => Math.abs(value - b[i]!.collisions[t]!)),
        ...score.pit!.above.map((value, t) => Math.abs(value - b[i]!.pit!.above[t]!)),
        ...score.pit!.ties.map((value, t) => Math.abs(value - b[i]!.pit!.ties[t]!)),
      ])
      report(`log-probs at ${temperature}`, { most: Math.max(...differences) })
      expect(Math.max(...differences)).toBeLessThan(1e-5)
    }
  })

  test('hidden states agree to 1e-4', async () => {
    await openBoth(spec)
    const request = { sequences: await drifted(spec, 3), temperature: 0.6, hidden: true }
    const [a, b] = [await ours.score(request), await theirs.score(request)]
    const differences = a.flatMap(({ hidden }, i) => {
      expect(hidden).toHaveLength(request.sequences[i]!.completion.length * spec.width)
      expect(b[i]!.hidden).toHaveLength(hidden!.length)
      return Array.from(hidden!, (value, t) => Math.abs(value - b[i]!.hidden![t]!))
    })
    report('hidden states', { most: Math.max(...differences) })
    expect(Math.max(...differences)).toBeLessThan(1e-4)
  })

  test('the same seeds draw the same tokens', async () => {
    await openBoth(spec)
    const samples = [2, 7, 2, 5].map((length, seed) => ({ prompt: randomTokens(spec, length, length), seed }))
    const request = { samples, maxNewTokens: 16, temperature: 1, stopTokens: [0] }
    const [a, b] = [await ours.generate(request), await theirs.generate(request)]
    expect(a.map(({ tokens, finish }) => [...tokens, finish])).toEqual(
      b.map(({ tokens, finish }) => [...tokens, finish]),
    )
  })

  test("every weight's gradient agrees to 1e-4 under clip and tis", async () => {
    await openBoth(spec)
    const request = { ...stepOf(await drifted(spec, 5)), objective: objectiveOf(['clip', 'tis']) }
    const apart = compare(
      spec,
      await gradientsOf(ours, spec, request),
      await gradientsOf(theirs, spec, request),
    )
    report('gradients', apart)
    expect(apart.norm).toBeLessThan(1e-4)
    expect(apart.element).toBeLessThan(1e-4)
  })
})

const beside = CORRECTIONS.filter((plugin) => !LOSSES.includes(plugin) && withSettings(plugin).correct)

test.each(LOSSES.map(({ name }) => name))('gradients agree under %s with every correction', async (name) => {
  await openBoth(SPEC)
  const objective = objectiveOf([name, ...beside.map((plugin) => plugin.name)])
  const request = { ...stepOf(await drifted(SPEC, 5)), objective }
  const apart = compare(
    SPEC,
    await gradientsOf(ours, SPEC, request),
    await gradientsOf(theirs, SPEC, request),
  )
  report(name, apart)
  expect(apart.norm).toBeLessThan(1e-4)
  expect(apart.element).toBeLessThan(1e-4)
})

test('twenty training steps stay together to 1e-4', async () => {
  await openBoth(SPEC)
  const objective = objectiveOf(['clip', 'tis'])
  let most = 0
  for (let step = 0; step < 20; step++) {
    const request = {
      ...stepOf(await drifted(SPEC, 100 + step)),
      objective,
      optimizer: { ...ADAMW, weightDecay: 0.01 },
    }
    const [a, b] = [await ours.train(request), await theirs.train(request)]
    expect(a.applied && b.applied).toBe(true)
    most = Math.max(most, Math.abs(a.loss - b.loss))
    for (const [metric, value] of Object.entries(a.metrics)) expect(b.metrics[metric]).toBeCloseTo(value, 3)
  }
  report('losses over 20 steps', { most })
  expect(most).toBeLessThan(1e-4)
})

/** Shown with WAGGLE_SHOW_AGREEMENT=1. */
function report(what: string, figures: object): void {
  if (process.env.WAGGLE_SHOW_AGREEMENT) console.log(what, figures)
}
