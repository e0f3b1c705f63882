// Vector algebra over tensors that stay on a device, run on the CPU's provider.

import { afterEach, expect, test } from 'vitest'
import { Graph } from '../../daemon/engine/onnx/graph/graph.ts'
import { add } from '../../daemon/engine/onnx/graph/ops.ts'
import {
  createDeviceTensors,
  type DeviceTensors,
  partsOf,
} from '../../daemon/engine/onnx/resident/device-tensors.ts'
import { deviceSpace } from '../../daemon/engine/onnx/resident/space.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { ADAMW } from './model.ts'

/** Enough small tensors for two parts, one that makes a part of its own between them, and a vector. */
const SHAPES = new Map<string, readonly number[]>([
  ...Array.from({ length: 40 }, (_, i) => [`before.${i}`, [2, 1 + (i % 5)]] as const),
  ['large', [1025, 1 << 10]],
  ...Array.from({ length: 17 }, (_, i) => [`after.${i}`, [3, 1 + (i % 4)]] as const),
  ['vector', [6]],
])

const values = (seed: number): Record<string, Float32Array> => {
  let at = seed
  const next = (): number => {
    at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0
    return at / 2 ** 32 - 0.5
  }
  return Object.fromEntries(
    [...SHAPES].map(([name, shape]) => [
      name,
      Float32Array.from({ length: shape.reduce((a, b) => a * b) }, next),
    ]),
  )
}

const runtime = createRuntime({ threads: 1, maxSessions: 8, keepsOnDevice: true })
const second: DeviceTensors = createDeviceTensors(SHAPES, runtime)
const space = deviceSpace(SHAPES, () => second, runtime)
afterEach(() => runtime.close())

async function holding(of: Record<string, Float32Array>): Promise<DeviceTensors> {
  const tensors = space.create()
  await space.fill(tensors, of)
  return tensors
}

test('a part is at most a million numbers, or one tensor, and decays as a whole', () => {
  expect(partsOf(SHAPES).map(({ names, isDecayed }) => [names.length, names[0], isDecayed])).toEqual([
    [40, 'before.0', true],
    [1, 'large', true],
    [17, 'after.0', true],
    [1, 'vector', false],
  ])
})

test('a part is at most 49 tensors', () => {
  const shapes = new Map(Array.from({ length: 100 }, (_, i) => [`m.${i}`, [2, 2]] as const))
  expect(partsOf(shapes).map(({ names }) => names.length)).toEqual([49, 49, 2])
})

test('every number of every tensor is blended, and none with its neighbour', async () => {
  const [a, b] = [values(1), values(2)]
  const into = space.create()
  await space.blend(await holding(a), 0.5, await holding(b), -2, into)
  const found = await space.copy(into)
  for (const name of SHAPES.keys())
    expect(found[name]).toEqual(a[name]!.map((x, i) => Math.fround(x * 0.5) + Math.fround(b[name]![i]! * -2)))
})

test('a squared norm counts every tensor', async () => {
  const a = values(3)
  const exact = Object.values(a).reduce((all, tensor) => all + tensor.reduce((sum, x) => sum + x * x, 0), 0)
  expect((await space.squaredNorm(await holding(a))) / exact).toBeCloseTo(1, 3)
})

test('a place that alternates is written to two tensors in turn, another to a new one each time, and both are freed', async () => {
  const graph = await runtime.compile('twice', () => {
    const made = new Graph('twice')
    const x = made.input('x', 'float32', [4])
    made.output('twice', add(x, x))
    return made
  })
  for (const [alternates, tensors] of [
    [true, 2],
    [false, 5],
  ] as const) {
    const before = { ...runtime.held }
    const place = runtime.hold({ length: 4, alternates })
    await runtime.write(place, Float32Array.of(1, 2, 3, 4))
    const contents = new Set([place.content])
    for (let i = 0; i < 4; i++) {
      await graph.run({ x: place }, {}, { twice: place })
      contents.add(place.content)
    }
    expect(contents.size).toBe(tensors)
    expect(await runtime.read(place)).toEqual(Float32Array.of(16, 32, 48, 64))
    place.release()
    expect(runtime.held).toEqual(before)
  }
})

test('AdamW moves each tensor by its own gradient', async () => {
  const [weight, slope] = [values(4), values(5)]
  const [weights, gradient, first] = [await holding(weight), await holding(slope), space.create()]
  const options = { ...ADAMW, learningRate: 0.01, maxGradientNorm: Infinity }
  await space.applyAdamW(options, { step: 1, norm: 1 }, { weights, gradient, first, second })
  const found = await space.copy(weights)
  // The first step moves by the rate against the gradient's sign, and decays matrices.
  for (const [name, shape] of SHAPES) {
    const decay = shape.length > 1 ? 1 - 0.01 * ADAMW.weightDecay : 1
    const moved = found[name]!.map(
      (x, i) => x - weight[name]![i]! * decay + 0.01 * Math.sign(slope[name]![i]!),
    )
    expect(Math.max(...[...moved.slice(0, 4096)].map(Math.abs))).toBeLessThan(1e-4)
  }
})
