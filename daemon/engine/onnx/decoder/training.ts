// Training graphs: a forward and a backward pass, which compute the gradients of the trained parameters. Scoring is the
// forward pass alone. The optimizer is separate (`optimizer.ts`) and runs once the gradient is known to be finite.

import type { DecoderSpec } from '../../decoder.ts'
import { trainableShapes } from '../../decoder.ts'
import type { Objective } from '../../engine.ts'
import { columnsRead } from '../../inputs.ts'
import { PLACES } from '../../trainer.ts'
import { asTable, declarePacked, type PackedInputs, SEGMENT_ROWS, TABLE } from '../batch/packing.ts'
import { gradients } from '../graph/autodiff.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { add, concat, expand, mul, reshape } from '../graph/ops.ts'
import { declareParameters, floats, headTable, type Parameters } from './decoder.ts'
import { type GroupOptions, groupHidden } from './groups.ts'
import { type HeadStatistics, headStatistics, type Statistic } from './head.ts'
import { lower, maskedSum } from './objective.ts'

interface HeadOptions {
  /** See `head.ts`. */
  headParts: number
}

function statistics(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
  inputs: PackedInputs,
  { headParts: parts, ...options }: HeadOptions & GroupOptions,
  wanted: readonly Statistic[],
): HeadStatistics & { hidden: Value } {
  const hidden = groupHidden(graph, spec, parameters, inputs, options)
  const targets = graph.input('targets', 'int32', [SEGMENT_ROWS])
  const inverseTemperature = graph.input('inverseTemperature', 'float32', [1])
  const table = headTable(parameters, spec)
  const size = spec.logitSoftCap
  const of = { targets, parts, wanted }
  const found = size
    ? headStatistics(hidden, { table, cap: { size, inverseTemperature } }, of)
    : headStatistics(mul(hidden, inverseTemperature), { table }, of)
  return { ...found, hidden }
}

/** What a score may contain besides log-probs, entropies and collisions. */
export interface ScoreOptions {
  hidden?: boolean
  pit?: boolean
}

/**
 * Log-probs, entropies and collisions of the targets of the blank token and of all segments' tokens,
 * [1 + segmentTokens] each. If asked for, also their places, and the hidden states that they are predicted from,
 * [1 + segmentTokens, D].
 */
export function buildScore(
  spec: DecoderSpec,
  { headParts, hidden: isHiddenWanted = false, pit = false }: HeadOptions & ScoreOptions,
): Graph {
  const graph = new Graph('score')
  const parameters = declareParameters(graph, spec)
  const options = { headParts, checkpointing: false }
  const names: Statistic[] = ['logprob', 'entropy', 'collision', ...(pit ? PLACES : [])]
  const found = statistics(graph, spec, parameters, declarePacked(graph), options, names)
  for (const name of names) graph.output(name, found[name]!)
  if (isHiddenWanted) graph.output('hidden', found.hidden)
  return graph
}

interface GradientOptions extends HeadOptions, GroupOptions {
  accumulate: boolean
  /** The loss is scaled by a factor in `inverseDenominator`. The input `inverseScale` removes it from the gradients. */
  isScaled?: boolean
}

/**
 * Forward and backward pass. Outputs: `sums`, the loss's masked sum and then each metric's, in the order of `metrics`;
 * and for each trained parameter `gradient.<name>`. If the graph accumulates, the input `sofar.<name>` is added to it.
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
  const read = columnsRead(objective)
  const names: Statistic[] = ['logprob', 'entropy', ...PLACES.filter((name) => read.has(name))]
  const found = statistics(graph, spec, parameters, inputs, options, names)
  const named = new Map<string, Value>(names.map((name) => [name, asTable(found[name]!, inputs)]))
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
  const made = gradients(
    loss,
    trained.map(([name]) => floats(parameters, name)),
  )
  const inverseScale = isScaled ? graph.input('inverseScale', 'float32', [1]) : undefined
  trained.forEach(([name, shape], index) => {
    const some = made[index]
    const gradient = some ? (inverseScale ? mul(some, inverseScale) : some) : expand(graph.scalar(0), shape)
    const sofar = accumulate ? graph.input(`sofar.${name}`, 'float32', shape) : undefined
    graph.output(`gradient.${name}`, sofar ? add(sofar, gradient) : gradient)
  })
  return graph
}
