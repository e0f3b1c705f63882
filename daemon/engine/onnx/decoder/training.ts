// Training graphs: forward and backward, which give the trained parameters' gradients. Scoring is the forward
// part alone. The optimizer has graphs of its own (`optimizer.ts`), run once the gradient is known to be
// finite.

import type { DecoderSpec } from '../../decoder.ts'
import { trainableShapes } from '../../decoder.ts'
import type { Objective } from '../../engine.ts'
import { asTable, declarePacked, type PackedInputs, SEGMENT_ROWS, TABLE } from '../batch/packing.ts'
import { gradients } from '../graph/autodiff.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { add, concat, expand, mul, reshape } from '../graph/ops.ts'
import { declareParameters, headTable, type Parameters } from './decoder.ts'
import { type GroupOptions, groupHidden } from './groups.ts'
import { type Head, headStatistics, scoreStatistics, type TokenStatistics } from './head.ts'
import { lower, maskedSum } from './objective.ts'

export interface HeadOptions {
  /** See `head.ts`. */
  headParts: number
}

function statistics<Statistics extends TokenStatistics>(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
  inputs: PackedInputs,
  { headParts, ...options }: HeadOptions & GroupOptions,
  ofHead: (x: Value, head: Head, targets: Value, parts: number) => Statistics,
): Statistics & { hidden: Value } {
  const hidden = groupHidden(graph, spec, parameters, inputs, options)
  const targets = graph.input('targets', 'int32', [SEGMENT_ROWS])
  const inverseTemperature = graph.input('inverseTemperature', 'float32', [1])
  const table = headTable(parameters, spec)
  const size = spec.logitSoftCap
  const of = size
    ? ofHead(hidden, { table, cap: { size, inverseTemperature } }, targets, headParts)
    : ofHead(mul(hidden, inverseTemperature), { table }, targets, headParts)
  return { ...of, hidden }
}

/**
 * Log-probs, entropies and collisions of the blank token's and segments' targets, [1 + segmentTokens] each, and
 * if asked for the hidden states that they are predicted from, [1 + segmentTokens, D].
 */
export function buildScore(
  spec: DecoderSpec,
  { headParts, hidden: isHiddenWanted = false }: HeadOptions & { hidden?: boolean },
): Graph {
  const graph = new Graph('score')
  const parameters = declareParameters(graph, spec)
  const options = { headParts, checkpointing: false }
  const { logprob, entropy, collision, hidden } = statistics(
    graph,
    spec,
    parameters,
    declarePacked(graph),
    options,
    scoreStatistics,
  )
  graph.output('logprob', logprob)
  graph.output('entropy', entropy)
  graph.output('collision', collision)
  if (isHiddenWanted) graph.output('hidden', hidden)
  return graph
}

export interface GradientOptions extends HeadOptions, GroupOptions {
  accumulate: boolean
  /** The loss, in `inverseDenominator`, is a multiple, which input `inverseScale` undoes in the gradients. */
  isScaled?: boolean
}

/**
 * Forward and backward. Outputs `sums`: the loss's masked sum, then each metric's, in the order of `metrics`;
 * and for each trained parameter `gradient.<name>`, to which `sofar.<name>` is added if the graph accumulates.
 */
export function buildGradient(
  spec: DecoderSpec,
  objective: Objective,
  columns: readonly string[],
  { accumulate, isScaled = false, ...options }: GradientOptions,
): Graph {
  const graph = new Graph(accumulate ? 'accumulate' : 'gradient')
  const parameters = declareParameters(graph, spec)
  const inputs = declarePacked(graph)
  const { logprob, entropy } = statistics(graph, spec, parameters, inputs, options, headStatistics)
  const named = new Map<string, Value>([
    ['logprob', asTable(logprob, inputs)],
    ['entropy', asTable(entropy, inputs)],
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

  const trained = [...trainableShapes(spec)]
  const found = gradients(
    loss,
    trained.map(([name]) => parameters.get(name)!),
  )
  const inverseScale = isScaled ? graph.input('inverseScale', 'float32', [1]) : undefined
  trained.forEach(([name, shape], index) => {
    const some = found[index]
    const gradient = some ? (inverseScale ? mul(some, inverseScale) : some) : expand(graph.scalar(0), shape)
    const sofar = accumulate ? graph.input(`sofar.${name}`, 'float32', shape) : undefined
    graph.output(`gradient.${name}`, sofar ? add(sofar, gradient) : gradient)
  })
  return graph
}
