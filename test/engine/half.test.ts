// Training with products in float16, on the CPU's provider, which computes them in float32 from rounded numbers: what it
// shows are the numerics, not the speed.

import { expect, test } from 'vitest'
import type { Core } from '../../daemon/engine/core.ts'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { TrainRequest } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { Graph } from '../../daemon/engine/onnx/graph/graph.ts'
import { gemm } from '../../daemon/engine/onnx/graph/ops.ts'
import { INITIAL, scaled } from '../../daemon/engine/onnx/loss-scale.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { column, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import { furthest, raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { ADAPTED, FAMILIES } from '../conformance/families.ts'
import { ADAMW, randomWeights, SPEC } from './model.ts'

const now = () => 0
const cores: [string, (precision: 'float16' | 'float32') => Core][] = [
  ['host', (precision) => createCore({ threads: 1, precision, now })],
  ['resident', (precision) => createCore({ isResident: true, threads: 1, precision, now })],
]

test('a product rounds what goes in and what comes out to float16, and too large is infinite', async () => {
  const runtime = createRuntime({ threads: 1, maxSessions: 1 })
  const graph = new Graph('product')
  graph.output('c', gemm(graph.input('a', 'float32', [1, 2]), graph.input('b', 'float32', [2, 1])))
  const compiled = await runtime.compile('product', () => graph, { isHalf: true })
  const product = async (a: number[], b: number[]) =>
    (await compiled.run({ a: Float32Array.from(a), b: Float32Array.from(b) })).c![0]
  // 1.0001 is 1 there, and 2049 is 2048.
  expect(await product([1.0001, 0], [1, 0])).toBe(1)
  expect(await product([2048, 1], [1, 1])).toBe(2048)
  expect(await product([300, 0], [300, 0])).toBe(Number.POSITIVE_INFINITY)
  expect(await product([1e-9, 0], [1, 0])).toBe(0)
  await runtime.close()
})

/** The gradient: what a step from zero moments without momentum leaves in the first moment. */
async function gradientOf(core: Core, spec: DecoderSpec, request: TrainRequest) {
  await core.open({ spec, weights: randomWeights(spec, 1) })
  const optimizer = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }
  const report = await core.train({ ...request, optimizer })
  return { report, gradient: (await core.optimizer()).first }
}

test.each(cores)('loss and gradients agree with float32 to what float16 can tell: %s', async (_, create) => {
  for (const [, spec] of [FAMILIES.at(-1)!, ADAPTED]) {
    const request = stepOf(raggedGroups(spec, 8))
    const [half, full] = [create('float16'), create('float32')]
    const found = await gradientOf(half, spec, request)
    const exact = await gradientOf(full, spec, request)
    expect(found.report.loss).not.toBe(exact.report.loss)
    expect(Math.abs(found.report.loss - exact.report.loss)).toBeLessThan(5e-3 * Math.abs(exact.report.loss))
    for (const [name, values] of Object.entries(exact.gradient)) {
      const norm = Math.hypot(...values)
      const error = Math.hypot(...values.map((value, i) => value - found.gradient[name]![i]!))
      expect(error, name).toBeLessThan(2e-2 * norm + 1e-6)
    }
    await Promise.all([half.close(), full.close()])
  }
})

test.each(cores)('scaling keeps gradients that are too small for float16: %s', async (_, create) => {
  // Without it all of these would be zero: the smallest that float16 has is 6e-8.
  const request = stepOf(raggedGroups(SPEC, 8))
  const tiny = { ...request, objective: { loss: mul(1e-7, neg(column('logprob'))), metrics: {} } }
  const [half, full] = [create('float16'), create('float32')]
  const [found, exact] = [await gradientOf(half, SPEC, tiny), await gradientOf(full, SPEC, tiny)]
  const name = 'model.layers.0.mlp.up_proj.weight'
  expect(furthest(found.gradient[name]!, exact.gradient[name]!)).toBeLessThan(
    0.05 * Math.max(...exact.gradient[name]!.map(Math.abs)),
  )
  await Promise.all([half.close(), full.close()])
})

test.each(cores)(
  'what overflows is not applied: the scale is halved until it fits: %s',
  async (_, create) => {
    const core = create('float16')
    const request = stepOf(raggedGroups(SPEC, 8))
    const steep = { ...request, objective: { loss: mul(1e4, neg(column('logprob'))), metrics: {} } }
    const { report, gradient } = await gradientOf(core, SPEC, steep)
    expect(report.applied).toBe(true)
    expect(report.overflows).toBeGreaterThan(0)
    const { lossScale } = await core.optimizer()
    expect(lossScale).toEqual({ scale: INITIAL.scale / 2 ** report.overflows!, good: 1 })
    const full = create('float32')
    const exact = await gradientOf(full, SPEC, steep)
    expect(exact.report.overflows).toBeUndefined()
    expect(Math.abs(report.gradientNorm / exact.report.gradientNorm - 1)).toBeLessThan(1e-2)
    for (const values of Object.values(gradient)) expect(values.every(Number.isFinite)).toBe(true)
    await Promise.all([core.close(), full.close()])
  },
)

test.each(cores)(
  'what no scale makes finite is refused as ever, and the scale stays: %s',
  async (_, create) => {
    const core = create('float16')
    await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
    const request = stepOf(raggedGroups(SPEC, 8))
    const train = (by: number) =>
      core.train({ ...request, objective: { loss: mul(by, column('logprob')), metrics: {} } })
    expect(await train(1e30)).toMatchObject({ applied: false, nonFinite: expect.stringMatching(/weight/) })
    expect(await train(Number.MAX_VALUE)).toMatchObject({ applied: false, nonFinite: 'loss' })
    expect((await core.optimizer()).lossScale).toEqual(INITIAL)
    expect(await core.weights()).toEqual(randomWeights(SPEC, 1))
    await core.close()
  },
)

test.each(cores)(
  'training goes as in float32, and on from a saved state bit for bit: %s',
  async (_, create) => {
    const request = {
      ...stepOf(raggedGroups(SPEC, 8)),
      objective: { loss: neg(column('logprob')), metrics: {} },
    }
    const optimizer = { ...ADAMW, learningRate: 3e-3 }
    const run = async (core: Core, steps: number) => {
      const losses: number[] = []
      for (let i = 0; i < steps; i++) losses.push((await core.train({ ...request, optimizer })).loss)
      return losses
    }
    const [half, full] = [create('float16'), create('float32')]
    for (const core of [half, full]) await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
    const [found, exact] = [await run(half, 40), await run(full, 40)]
    expect(exact.at(-1)).toBeLessThan(0.7 * exact[0]!)
    found.forEach((loss, i) => {
      expect(Math.abs(loss - exact[i]!)).toBeLessThan(2e-2 * exact[0]!)
    })
    const saved = { weights: await half.weights(), optimizer: await half.optimizer() }
    expect(saved.optimizer.lossScale!.good).toBe(40)
    await run(half, 2)
    const later = await half.weights()
    await half.open({ spec: SPEC, ...saved })
    await run(half, 2)
    expect(await half.weights()).toEqual(later)
    await Promise.all([half.close(), full.close()])
  },
)

test('the scale doubles after two thousand gradients that fit', async () => {
  const scaling = { state: { scale: 8, good: 1998 } }
  const fits = (limit: number) => (scale: number) =>
    Promise.resolve(scale <= limit ? {} : { nonFinite: 'model.norm.weight' })
  await scaled(scaling, fits(8))
  expect(scaling.state).toEqual({ scale: 8, good: 1999 })
  await scaled(scaling, fits(8))
  expect(scaling.state).toEqual({ scale: 16, good: 0 })
  expect((await scaled(scaling, fits(8))).overflows).toBe(1)
  expect(scaling.state).toEqual({ scale: 8, good: 1 })
})
