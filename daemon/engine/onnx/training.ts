// Training graphs: forward, backward, clipping and AdamW.
//
// One micro-batch is one graph, `step`: the whole of it. Several micro-batches run `accumulate` each, which adds to
// gradients that are passed through, and then `apply`. Scoring is the forward part alone.

import type { DecoderSpec } from '../decoder.ts'
import { parameterShapes } from '../decoder.ts'
import type { Objective } from '../engine.ts'
import { gradients } from './autodiff.ts'
import { tokenStatistics } from './blocks.ts'
import { ANY_BATCH, declareGroupInputs, declareParameters, groupLogits, type Parameters } from './decoder.ts'
import { times } from './dimension.ts'
import { Graph, type Shape, type Value } from './graph.ts'
import { lower, maskedSum } from './objective.ts'
import { add, concat, div, expand, min, mul, reshape, sqrt, sub, sum, sumOfSquares } from './ops.ts'

/** Order of the scalars in the optimizer's input vector. */
export const OPTIMIZER_SCALARS = [
  'learningRate',
  'beta1',
  'beta2',
  'epsilon',
  'weightDecay',
  'maxGradientNorm',
  // 1 / (1 - beta^t), the corrections of the moments' bias at the start
  'firstCorrection',
  'secondCorrection',
] as const

/** Per-token columns are [rows, tokens]. */
const TABLE = [times(ANY_BATCH.groups, ANY_BATCH.rows), ANY_BATCH.segment]

function statistics(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
): { logprob: Value; entropy: Value } {
  const logits = groupLogits(graph, spec, parameters, ANY_BATCH, declareGroupInputs(graph, ANY_BATCH))
  const targets = graph.input('targets', 'int32', [logits.shape[0]!])
  const inverseTemperature = graph.input('inverseTemperature', 'float32', [1])
  const { logprob, entropy } = tokenStatistics(mul(logits, inverseTemperature), targets)
  return { logprob: reshape(logprob, TABLE), entropy: reshape(entropy, TABLE) }
}

/** Log-probs and entropies of segments' targets, [groups * rows, segment] each. */
export function buildScore(spec: DecoderSpec): Graph {
  const graph = new Graph('score')
  const { logprob, entropy } = statistics(graph, spec, declareParameters(graph, spec))
  graph.output('logprob', logprob)
  graph.output('entropy', entropy)
  return graph
}

interface Backward {
  graph: Graph
  parameters: Parameters
  gradients: Map<string, Value>
}

/** Forward and backward. Outputs `sums`: the loss's masked sum, then each metric's, in the order of `metrics`. */
function buildBackward(
  name: string,
  spec: DecoderSpec,
  objective: Objective,
  columns: readonly string[],
): Backward {
  const graph = new Graph(name)
  const parameters = declareParameters(graph, spec)
  const { logprob, entropy } = statistics(graph, spec, parameters)
  const named = new Map<string, Value>([
    ['logprob', logprob],
    ['entropy', entropy],
  ])
  for (const column of columns) named.set(column, graph.input(`column.${column}`, 'float32', TABLE))
  const mask = named.get('mask')!
  const inverseDenominator = graph.input('inverseDenominator', 'float32', [1])
  const total = maskedSum(lower(objective.loss, named), mask)
  const loss = mul(reshape(total, [1]), inverseDenominator)
  const sums = [reshape(total, [1])]
  for (const metric of Object.values(objective.metrics)) {
    sums.push(reshape(maskedSum(lower(metric, named), mask), [1]))
  }
  graph.output('sums', sums.length === 1 ? sums[0]! : concat(sums, 0))

  const names = [...parameters.keys()]
  const found = gradients(
    loss,
    names.map((parameter) => parameters.get(parameter)!),
  )
  const result = new Map<string, Value>()
  names.forEach((parameter, index) => {
    const gradient = found[index] ?? expand(graph.scalar(0), parameters.get(parameter)!.shape)
    result.set(parameter, gradient)
  })
  return { graph, parameters, gradients: result }
}

/** Adds a micro-batch's gradients to `sofar.<name>`, giving `gradient.<name>`. */
export function buildAccumulate(
  spec: DecoderSpec,
  objective: Objective,
  columns: readonly string[],
  first: boolean,
): Graph {
  const { graph, parameters, gradients: found } = buildBackward('accumulate', spec, objective, columns)
  for (const [name, gradient] of found) {
    const total = first
      ? gradient
      : add(graph.input(`sofar.${name}`, 'float32', parameters.get(name)!.shape), gradient)
    graph.output(`gradient.${name}`, total)
  }
  return graph
}

/** AdamW (Loshchilov & Hutter 2019) on gradients given as inputs. */
export function buildApply(spec: DecoderSpec): Graph {
  const graph = new Graph('apply')
  const parameters = declareParameters(graph, spec)
  const found = new Map<string, Value>()
  for (const [name, shape] of parameterShapes(spec))
    found.set(name, graph.input(`gradient.${name}`, 'float32', shape))
  adamW(graph, parameters, found)
  return graph
}

/** Everything at once: one graph from tokens to new weights. */
export function buildStep(spec: DecoderSpec, objective: Objective, columns: readonly string[]): Graph {
  const { graph, parameters, gradients: found } = buildBackward('step', spec, objective, columns)
  adamW(graph, parameters, found)
  return graph
}

/** Norms, biases and other vectors are not decayed. */
function isDecayed(shape: Shape): boolean {
  return shape.length > 1
}

/**
 * Outputs `weight.<name>`, `first.<name>`, `second.<name>` and `squares`: each gradient's sum of squares before
 * clipping, in the parameters' order, from which the caller sees the norm and which tensor was not finite.
 */
function adamW(graph: Graph, parameters: Parameters, found: ReadonlyMap<string, Value>): void {
  const one = graph.scalar(1)
  const scalar = new Map<string, Value>()
  for (const name of OPTIMIZER_SCALARS) scalar.set(name, graph.input(`optimizer.${name}`, 'float32', [1]))
  const get = (name: (typeof OPTIMIZER_SCALARS)[number]): Value => scalar.get(name)!

  const squares = concat(
    [...found.values()].map((gradient) => reshape(sumOfSquares(gradient), [1])),
    0,
  )
  graph.output('squares', squares)
  // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
  const norm = add(reshape(sqrt(sum(squares)), [1]), graph.scalar(1e-6))
  const scale = min(div(get('maxGradientNorm'), norm), one)
  const rate = mul(get('learningRate'), get('firstCorrection'))
  const keepFirst = sub(one, get('beta1'))
  const keepSecond = sub(one, get('beta2'))
  const decayed = sub(one, mul(get('learningRate'), get('weightDecay')))

  for (const [name, weight] of parameters) {
    const gradient = mul(found.get(name)!, scale)
    const first = graph.input(`moment1.${name}`, 'float32', weight.shape)
    const second = graph.input(`moment2.${name}`, 'float32', weight.shape)
    const newFirst = add(first, mul(sub(gradient, first), keepFirst))
    const newSecond = add(second, mul(sub(mul(gradient, gradient), second), keepSecond))
    const spread = add(sqrt(mul(newSecond, get('secondCorrection'))), get('epsilon'))
    const step = div(mul(newFirst, rate), spread)
    graph.output(`weight.${name}`, sub(isDecayed(weight.shape) ? mul(weight, decayed) : weight, step))
    graph.output(`first.${name}`, newFirst)
    graph.output(`second.${name}`, newSecond)
  }
}
