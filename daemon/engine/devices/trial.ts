// Tries a device: a matrix product and two training steps of a small decoder must agree with the CPU's. Then a round of
// sampling and training measures the speed, with the sizes of the model that the device is for: a small model runs
// faster on a CPU than on the best GPU. Runs in a separate process (`trial-child.ts`), because a driver may crash or hang.

import { column, neg } from '../../../protocol/plugin/expression/expression.ts'
import type { Core } from '../core.ts'
import { adapterShapes, type DecoderSpec, parameterCount, parameterShapes } from '../decoder.ts'
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

const SMALL: DecoderSpec = specOf({
  ...{ width: 32, layers: 2, vocabulary: 61, feedForward: 64 },
  ...{ heads: 2, kvHeads: 1, headWidth: 16 },
})
/** About the default model. */
const USUAL: Sizes = {
  ...{ width: 192, layers: 3, vocabulary: 512, feedForward: 384 },
  ...{ heads: 3, kvHeads: 1, headWidth: 64 },
}
/** The most of a vocabulary that is tried: with a part of the layers, all of a large one would count too much. */
const MOST_TOKENS = 8192
/**
 * The most parameters that are tried, unless two layers have more. Fewer stay in the CPU's cache, where they are read
 * faster than a whole model's: with two layers of a model of 135 M, an H200 seemed slower than the CPU beside it, and
 * with all 30 it took half the time.
 */
const MOST_PARAMETERS = 32e6
/** Tokens of each sequence that the measured round writes and learns from. */
const ROUND_TOKENS = 16

/** What the speed is measured for. */
export interface Purpose {
  /** Threads that the CPU would use. */
  threads: number
  /** The model's sizes; about those of the default model if left out. */
  like?: Sizes
}

export type Sizes = Pick<
  DecoderSpec,
  'width' | 'layers' | 'vocabulary' | 'heads' | 'kvHeads' | 'headWidth' | 'feedForward' | 'adapter'
>

interface TrialOptions extends Purpose {
  measure: boolean
  /** Precision on the device; the CPU computes in float32. */
  precision?: Precision
  /** Monotonic milliseconds. */
  now: () => number
}

export async function tryDevice(
  device: Device,
  { measure, precision = 'float32', threads, like = USUAL, now }: TrialOptions,
): Promise<TrialReport> {
  const coreOn = (provider: Device, precision: Precision): Core =>
    createCore({ provider, precision, threads, now })
  const cores = [coreOn('cpu', 'float32'), coreOn(device, precision)]
  const [expected, found] = [await product('cpu', 'float32'), await product(device, precision)]
  const productError = Math.max(...expected.map((value, i) => Math.abs(value - found[i]!)))
  const [cpu, other] = await Promise.all(cores.map(trained))
  const training = Math.max(
    ...cpu!.map((value, i) => Math.abs(value - other![i]!) / Math.max(1e-3, Math.abs(value))),
  )
  const report: TrialReport = { product: productError, training }
  if (measure && agrees(report, precision)) {
    const spec = partOf(like)
    const weights = weightsOf(spec)
    const seconds: number[] = []
    for (const core of cores) seconds.push(await roundSeconds(core, { spec, weights }, now))
    report.speed = seconds[0]! / seconds[1]!
  }
  for (const core of cores) await core.close()
  return report
}

async function product(provider: Device, precision: Precision): Promise<number[]> {
  const runtime = createRuntime({ threads: 1, maxSessions: 1, provider })
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

/** Losses and gradient norms of two steps. */
async function trained(core: Core): Promise<number[]> {
  await core.open({ spec: SMALL, weights: weightsOf(SMALL) })
  const values: number[] = []
  for (let step = 0; step < 2; step++) {
    const { loss, gradientNorm } = await core.train(batchOf(SMALL, 6))
    values.push(loss, gradientNorm)
  }
  return values
}

/** The time of a round. One before it compiles. */
async function roundSeconds(
  core: Core,
  model: { spec: DecoderSpec; weights: Weights },
  now: () => number,
): Promise<number> {
  await core.open(model)
  const batch = batchOf(model.spec, ROUND_TOKENS)
  const samples = batch.sequences.map(({ conditioning }, seed) => ({ prompt: conditioning, seed }))
  const round = async (): Promise<void> => {
    await core.generate({ samples, maxNewTokens: ROUND_TOKENS, temperature: 1, stopTokens: [] })
    await core.train(batch)
  }
  await round()
  const started = now()
  await round()
  return (now() - started) / 1000
}

function batchOf({ vocabulary }: DecoderSpec, length: number): TrainRequest {
  const tokens = (seed: number, count: number): Int32Array =>
    Int32Array.from({ length: count }, (_, i) => Math.floor(uniformAt(seed, i) * vocabulary))
  const sequences = Array.from({ length: 16 }, (_, i) => ({
    conditioning: tokens(i >> 3, 5),
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

/** Random numbers, which a large matrix repeats. */
const NUMBERS = Float32Array.from({ length: 65_537 }, (_, i) => uniformAt(100, i) - 0.5)

function weightsOf(spec: DecoderSpec): Weights {
  const weights: Weights = {}
  let at = 0
  for (const [name, shape] of [...parameterShapes(spec), ...adapterShapes(spec)]) {
    const scale = 2 * (shape[1] ?? 1) ** -0.5
    weights[name] = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () =>
      shape.length === 1 ? 1 : NUMBERS[at++ % NUMBERS.length]! * scale,
    )
  }
  return weights
}

/** As much of a model as is tried. */
export function partOf(like: Sizes): DecoderSpec {
  const vocabulary = Math.min(like.vocabulary, MOST_TOKENS)
  const parametersOf = (layers: number): number => parameterCount(specOf({ ...like, vocabulary, layers }))
  const perLayer = parametersOf(1) - parametersOf(0)
  const most = Math.max(2, Math.floor((MOST_PARAMETERS - parametersOf(0)) / perLayer))
  return specOf({ ...like, vocabulary, layers: Math.min(like.layers, most) })
}

/** Takes the sizes alone of a model that has more to it. */
function specOf(sizes: Sizes): DecoderSpec {
  const { width, layers, vocabulary, heads, kvHeads, headWidth, feedForward, adapter } = sizes
  return {
    ...{ width, layers, vocabulary, heads, kvHeads, headWidth, feedForward },
    ...(adapter && { adapter }),
    normEpsilon: 1e-5,
    ropeFrequencies: Array.from({ length: headWidth / 2 }, (_, i) => 10_000 ** ((-2 * i) / headWidth)),
    contextLength: 128,
    tiedEmbeddings: true,
    attentionBias: false,
    queryKeyNorm: false,
  }
}
