import { expect, test } from 'vitest'
import {
  gatedGelu,
  gatedSilu,
  linear,
  rmsNorm,
  rotate,
  tokenStatistics,
} from '../../daemon/engine/onnx/decoder/blocks.ts'
import { gradients } from '../../daemon/engine/onnx/graph/autodiff.ts'
import { Graph, sizeOf, type Value } from '../../daemon/engine/onnx/graph/graph.ts'
import * as ops from '../../daemon/engine/onnx/graph/ops.ts'
import { createRuntime, type Data } from '../../daemon/engine/onnx/runtime/runtime.ts'

const runtime = createRuntime({ threads: 1, maxSessions: 4 })

function uniform(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

interface Case {
  name: string
  /** Shapes of float inputs. */
  shapes: number[][]
  build(inputs: Value[]): Value
  /** Range that inputs are drawn from. */
  range?: [number, number]
}

const int32 = (graph: Graph, values: number[]): Value =>
  graph.constant(Int32Array.from(values), [values.length])

const CASES: Case[] = [
  {
    name: 'add, broadcast both ways',
    shapes: [
      [3, 1, 4],
      [2, 1],
    ],
    build: ([a, b]) => ops.add(a!, b!),
  },
  { name: 'sub', shapes: [[2, 3], [3]], build: ([a, b]) => ops.sub(a!, b!) },
  {
    name: 'mul',
    shapes: [
      [2, 3],
      [2, 1],
    ],
    build: ([a, b]) => ops.mul(a!, b!),
  },
  { name: 'div', shapes: [[2, 3], [3]], build: ([a, b]) => ops.div(a!, b!), range: [0.5, 2] },
  { name: 'neg', shapes: [[5]], build: ([a]) => ops.neg(a!) },
  { name: 'exp', shapes: [[5]], build: ([a]) => ops.exp(a!) },
  { name: 'log', shapes: [[5]], build: ([a]) => ops.log(a!), range: [0.5, 2] },
  { name: 'sqrt', shapes: [[5]], build: ([a]) => ops.sqrt(a!), range: [0.5, 2] },
  { name: 'sigmoid', shapes: [[5]], build: ([a]) => ops.sigmoid(a!) },
  { name: 'tanh', shapes: [[5]], build: ([a]) => ops.tanh(a!) },
  { name: 'abs', shapes: [[6]], build: ([a]) => ops.abs(a!) },
  { name: 'min', shapes: [[3, 4], [4]], build: ([a, b]) => ops.min(a!, b!) },
  {
    name: 'max',
    shapes: [
      [3, 4],
      [3, 1],
    ],
    build: ([a, b]) => ops.max(a!, b!),
  },
  {
    name: 'where',
    shapes: [[3, 4], [4]],
    build: ([a, b]) => ops.where(ops.less(a!, a!.graph.scalar(0.1)), a!, b!),
  },
  { name: 'reshape', shapes: [[2, 6]], build: ([a]) => ops.reshape(a!, [3, 4]) },
  { name: 'transpose', shapes: [[2, 3, 4]], build: ([a]) => ops.transpose(a!, [2, 0, 1]) },
  { name: 'expand', shapes: [[2, 1, 3]], build: ([a]) => ops.expand(a!, [4, 2, 5, 3]) },
  { name: 'slice', shapes: [[4, 5]], build: ([a]) => ops.slice(a!, 1, 1, 4) },
  { name: 'split, of which a part is used', shapes: [[4, 5]], build: ([a]) => ops.split(a!, 1, [2, 3])[1]! },
  { name: 'pad', shapes: [[2, 3]], build: ([a]) => ops.pad(a!, 0, 1, 2) },
  {
    name: 'concat',
    shapes: [
      [2, 3],
      [2, 2],
    ],
    build: ([a, b]) => ops.concat([a!, b!], 1),
  },
  { name: 'reduceSum', shapes: [[2, 3, 4]], build: ([a]) => ops.reduceSum(a!, [0, 2]) },
  { name: 'reduceMean', shapes: [[2, 3, 4]], build: ([a]) => ops.reduceMean(a!, [1], true) },
  { name: 'sum', shapes: [[2, 3]], build: ([a]) => ops.sum(a!) },
  ...[false, true].flatMap((transposeA) =>
    [false, true].map((transposeB) => ({
      name: `gemm, transposed ${transposeA} ${transposeB}`,
      shapes: [transposeA ? [4, 3] : [3, 4], transposeB ? [5, 4] : [4, 5]],
      build: ([a, b]: Value[]) => ops.gemm(a!, b!, { transposeA, transposeB }),
    })),
  ),
  {
    name: 'matmul',
    shapes: [
      [2, 3, 4],
      [2, 4, 2],
    ],
    build: ([a, b]) => ops.matmul(a!, b!),
  },
  {
    name: 'matmul, one side broadcast',
    shapes: [
      [2, 3, 2, 4],
      [2, 1, 4, 5],
    ],
    build: ([a, b]) => ops.matmul(a!, b!),
  },
  {
    name: 'gatherRows with repeats',
    shapes: [[4, 3]],
    build: ([a]) => ops.gatherRows(a!, int32(a!.graph, [2, 0, 2, 3, 2])),
  },
  {
    name: 'means weighted by a softmax',
    shapes: [
      [2, 3, 5],
      [2, 5, 4],
    ],
    build: ([scores, values]) => ops.weightedMeans(scores!, values!),
  },
  { name: 'linear with bias', shapes: [[3, 4], [5, 4], [5]], build: ([x, w, b]) => linear(x!, w!, b!) },
  { name: 'rmsNorm', shapes: [[3, 8], [8]], build: ([x, w]) => rmsNorm(x!, w!, 1e-5) },
  { name: 'rmsNorm over heads', shapes: [[3, 2, 4], [4]], build: ([x, w]) => rmsNorm(x!, w!, 1e-5) },
  {
    name: 'gatedSilu',
    shapes: [
      [3, 4],
      [3, 4],
    ],
    build: ([a, b]) => gatedSilu(a!, b!),
  },
  {
    name: 'gatedGelu',
    shapes: [
      [3, 4],
      [3, 4],
    ],
    build: ([a, b]) => gatedGelu(a!, b!),
  },
  {
    name: 'rotate',
    shapes: [[3, 1, 8]],
    build: ([x]) => {
      const { graph } = x!
      const angles = Float32Array.from({ length: 10 }, (_, i) => 0.3 * i)
      return rotate(x!, {
        positions: graph.constant(BigInt64Array.of(0n, 3n, 1n), [3, 1]),
        cos: graph.constant(angles.map(Math.cos), [5, 2]),
        sin: graph.constant(angles.map(Math.sin), [5, 2]),
      })
    },
  },
  {
    name: 'token log-prob',
    shapes: [[3, 6]],
    build: ([x]) => tokenStatistics(x!, int32(x!.graph, [5, 0, 2])).logprob,
  },
  {
    name: 'divergence from a teacher',
    shapes: [[3, 6]],
    build: ([x]) => {
      const { graph } = x!
      const logprobs = Float32Array.of(-1, -2, Math.log(1 - Math.exp(-1) - Math.exp(-2)))
      const teacher = {
        tokens: graph.constant(Int32Array.of(5, 0, 2, 1, 3, 4), [3, 2]),
        logprobs: graph.constant(Float32Array.of(...logprobs, ...logprobs, ...logprobs), [3, 3]),
      }
      return tokenStatistics(x!, int32(graph, [5, 0, 2]), { teacher }).divergence!
    },
  },
  {
    name: 'token entropy',
    shapes: [[3, 6]],
    build: ([x]) => tokenStatistics(x!, int32(x!.graph, [5, 0, 2])).entropy,
  },
]

for (const { name, shapes, build, range: [low, high] = [-1, 1] } of CASES) {
  test(`the gradient of ${name} equals finite differences`, async () => {
    const random = uniform(name.length * 7919)
    const graph = new Graph(name)
    const inputs = shapes.map((shape, i) => graph.input(`in${i}`, 'float32', shape))
    const out = build(inputs)
    // A random projection makes a scalar to which every output element contributes differently.
    const weights = Float32Array.from({ length: sizeOf(out.shape) as number }, () => random() * 2 - 1)
    const scalar = ops.sum(ops.mul(out, graph.constant(weights, out.shape)))
    graph.output('out', scalar)
    gradients(scalar, inputs).forEach((gradient, i) => {
      graph.output(`gradient${i}`, gradient!)
    })
    const compiled = await runtime.compile(name, () => graph)
    const feeds: Record<string, Data> = {}
    shapes.forEach((shape, i) => {
      feeds[`in${i}`] = Float32Array.from(
        { length: sizeOf(shape) as number },
        () => low + random() * (high - low),
      )
    })
    const exact = await compiled.run(feeds)
    const h = 2e-3
    for (let i = 0; i < shapes.length; i++) {
      const data = feeds[`in${i}`] as Float32Array
      for (let j = 0; j < data.length; j++) {
        const value = data[j]!
        data[j] = value + h
        const up = (await compiled.run(feeds)).out![0]!
        data[j] = value - h
        const down = (await compiled.run(feeds)).out![0]!
        data[j] = value
        const expected = (up - down) / (2 * h)
        expect(exact[`gradient${i}`]![j], `input ${i}, element ${j}`).toBeCloseTo(expected, 2)
        expect(Math.abs(exact[`gradient${i}`]![j]! - expected)).toBeLessThan(
          2e-3 * Math.max(1, Math.abs(expected)),
        )
      }
    }
  })
}
