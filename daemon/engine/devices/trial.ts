// Tries a device: a matrix product and two training steps of a small decoder must agree with the CPU's; then a larger
// training step measures the speed. Runs in a separate process (`trial-child.ts`), because a driver may crash or hang.

import { column, neg } from '../../../protocol/plugin/expression/expression.ts'
import type { Core } from '../core.ts'
import { type DecoderSpec, parameterShapes } from '../decoder.ts'
import type { TrainRequest } from '../engine.ts'
import { createCore } from '../onnx/core.ts'
import { Graph } from '../onnx/graph/graph.ts'
import { gemm } from '../onnx/graph/ops.ts'
import type { Precision } from '../onnx/loss-scale.ts'
import { createRuntime } from '../onnx/runtime/runtime.ts'
import { uniformAt } from '../sampling/random.ts'
import { ADAMW } from '../trainer.ts'
import type { Weights } from '../weights.ts'
import type { Device } from './device.ts'
import { agrees, type TrialReport } from './trial-report.ts'

const SMALL: DecoderSpec = specOf({ width: 32, layers: 2, vocabulary: 61, headWidth: 16 })
const LARGE: DecoderSpec = specOf({ width: 192, layers: 2, vocabulary: 512, headWidth: 64 })
const THREADS = 2

interface TrialOptions {
  measure: boolean
  /** Precision on the device; the CPU computes in float32. */
  precision?: Precision
  /** Monotonic milliseconds. */
  now: () => number
}

export async function tryDevice(
  device: Device,
  { measure, precision = 'float32', now }: TrialOptions,
): Promise<TrialReport> {
  const cores = [coreOn('cpu', 'float32', now), coreOn(device, precision, now)]
  const [expected, found] = [await product('cpu', 'float32'), await product(device, precision)]
  const productError = Math.max(...expected.map((value, i) => Math.abs(value - found[i]!)))
  const [cpu, other] = await Promise.all(cores.map((core) => train(core, SMALL, 2, 6, now)))
  const training = Math.max(
    ...cpu!.values.map((value, i) => Math.abs(value - other!.values[i]!) / Math.max(1e-3, Math.abs(value))),
  )
  const report: TrialReport = { product: productError, training }
  if (measure && agrees(report, precision)) {
    const seconds: number[] = []
    for (const core of cores) seconds.push((await train(core, LARGE, 4, 64, now)).seconds)
    report.speed = seconds[0]! / seconds[1]!
  }
  for (const core of cores) await core.close()
  return report
}

function coreOn(provider: Device, precision: Precision, now: () => number): Core {
  return createCore({ provider, precision, threads: THREADS, now })
}

async function product(provider: Device, precision: Precision): Promise<number[]> {
  const runtime = createRuntime({ threads: THREADS, maxSessions: 1, provider })
  const shape = [96, 96]
  const graph = new Graph('product')
  graph.output('c', gemm(graph.input('a', 'float32', shape), graph.input('b', 'float32', shape)))
  const numbers = (seed: number): Float32Array =>
    Float32Array.from({ length: 96 * 96 }, (_, i) => uniformAt(seed, i) - 0.5)
  const compiled = await runtime.compile('product', () => graph, { isHalf: precision === 'float16' })
  const { c } = await compiled.run({ a: numbers(1), b: numbers(2) })
  await runtime.close()
  return [...c!]
}

/** Losses and gradient norms of some steps, and the time of the fastest. The first step compiles and is not timed. */
async function train(
  core: Core,
  spec: DecoderSpec,
  steps: number,
  length: number,
  now: () => number,
): Promise<{ values: number[]; seconds: number }> {
  await core.open({ spec, weights: weightsOf(spec) })
  const values: number[] = []
  let seconds = Number.POSITIVE_INFINITY
  for (let step = 0; step < steps; step++) {
    const started = now()
    const { loss, gradientNorm } = await core.train(batchOf(spec, length))
    if (step > 0) seconds = Math.min(seconds, (now() - started) / 1000)
    values.push(loss, gradientNorm)
  }
  return { values, seconds }
}

function batchOf({ vocabulary }: DecoderSpec, length: number): TrainRequest {
  const tokens = (seed: number, count: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => Math.floor(uniformAt(seed, i) * vocabulary))
  const sequences = Array.from({ length: 8 }, (_, i) => ({
    conditioning: tokens(i >> 2, 5),
    completion: tokens(10 + i, length),
    columns: {},
  }))
  return {
    sequences,
    objective: { loss: neg(column('logprob')), metrics: {} },
    temperature: 1,
    denominator: sequences.length * length,
    optimizer: {
      ...ADAMW,
      learningRate: 1e-3,
      beta2: 0.95,
    },
  }
}

function weightsOf(spec: DecoderSpec): Weights {
  const weights: Weights = {}
  let seed = 100
  for (const [name, shape] of parameterShapes(spec)) {
    seed += 1
    const scale = 2 * (shape[1] ?? 1) ** -0.5
    weights[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) =>
      shape.length === 1 ? 1 : (uniformAt(seed, i) - 0.5) * scale,
    )
  }
  return weights
}

function specOf({
  width,
  layers,
  vocabulary,
  headWidth,
}: Pick<DecoderSpec, 'width' | 'layers' | 'vocabulary' | 'headWidth'>): DecoderSpec {
  return {
    width,
    layers,
    vocabulary,
    headWidth,
    heads: width / headWidth,
    kvHeads: 1,
    feedForward: 2 * width,
    normEpsilon: 1e-5,
    ropeFrequencies: Array.from({ length: headWidth / 2 }, (_, i) => 10_000 ** ((-2 * i) / headWidth)),
    contextLength: 128,
    tiedEmbeddings: true,
    attentionBias: false,
    queryKeyNorm: false,
  }
}
