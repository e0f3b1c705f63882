// Training graphs: a forward and a backward pass, which compute the gradients of the trained parameters. Scoring is the
// forward pass alone. The optimizer is separate (`optimizer.ts`) and runs once the gradient is known to be finite.

import type { DecoderSpec } from '../../decoder.ts'
import { trainableShapes } from '../../decoder.ts'
import type { Objective } from '../../engine.ts'
import { columnsRead } from '../../inputs.ts'
import { DIVERGENCE, PLACES } from '../../trainer.ts'
import { asTable, declarePacked, type PackedInputs, SEGMENT_ROWS, TABLE } from '../batch/packing.ts'
import { gradients } from '../graph/autodiff.ts'
import { Graph, type Value } from '../graph/graph.ts'
import { add, concat, expand, mul, reshape } from '../graph/ops.ts'
import type { TokenExtras } from './blocks.ts'
import { declareParameters, floats, headTable, type Parameters } from './decoder.ts'
import type { Teacher } from './divergence.ts'
import { type GroupOptions, groupHidden } from './groups.ts'
import { type HeadStatistics, headStatistics, type Statistic } from './head.ts'
import { lower, maskedSum } from './objective.ts'

function statistics(
  graph: Graph,
  spec: DecoderSpec,
  parameters: Parameters,
  inputs: PackedInputs,
  options: GroupOptions,
  { wanted, ...extras }: { wanted: readonly Statistic[] } & TokenExtras,
): HeadStatistics & { hidden: Value } {
  const hidden = groupHidden(graph, spec, parameters, inputs, options)
  const targets = graph.input('targets', 'int32', [SEGMENT_ROWS])
  const inverseTemperature = graph.input('inverseTemperature', 'float32', [1])
  const table = headTable(parameters, spec)
  const size = spec.logitSoftCap
  const of = { targets, parts: options.parts.head, wanted, ...extras }
  const found = size
    ? headStatistics(hidden, { table, cap: { size, inverseTemperature } }, of)
    : headStatistics(mul(hidden, inverseTemperature), { table }, of)
  return { ...found, hidden }
}

/** What a score may contain besides log-probs, entropies and collisions. */
export interface ScoreOptions {
  hidden?: boolean
  pit?: boolean
  /** How many of the likeliest tokens. */
  top?: number
}

/**
 * Log-probs, entropies and collisions of the targets of the blank token and of all segments' tokens,
 * [1 + segmentTokens] each. If asked for, also their places, the hidden states that they are predicted from,
 * [1 + segmentTokens, D], and the likeliest tokens, [1 + segmentTokens, 2 top].
 */
export function buildScore(
  spec: DecoderSpec,
  { parts, hidden: isHiddenWanted = false, pit = false, top }: Pick<GroupOptions, 'parts'> & ScoreOptions,
): Graph {
  const graph = new Graph('score')
  const parameters = declareParameters(graph, spec)
  const options = { parts, checkpointing: false }
  const names: Statistic[] = ['logprob', 'entropy', 'collision', ...(pit ? PLACES : [])]
  const found = statistics(graph, spec, parameters, declarePacked(graph), options, { wanted: names, top })
  for (const name of names) graph.output(name, found[name]!)
  if (isHiddenWanted) graph.output('hidden', found.hidden)
  if (top) graph.output('top', found.top!)
  return graph
}

/** What a teacher says about each token, in the order of `SEGMENT_ROWS`. */
function declareTeacher(graph: Graph, count: number): Teacher {
  return {
    tokens: graph.input('teacherTokens', 'int32', [SEGMENT_ROWS, count]),
    logprobs: graph.input('teacherLogprobs', 'float32', [SEGMENT_ROWS, count + 1]),
  }
}

interface GradientOptions extends GroupOptions {
  accumulate: boolean
  /** The loss is scaled by a factor in `inverseDenominator`. The input `inverseScale` removes it from the gradients. */
  isScaled?: boolean
  /** K of the teacher's tokens, if the objective reads the divergence from it. */
  taught?: number | undefined
}

/**
 * Forward and backward pass. Outputs: `sums`, the loss's masked sum and then each metric's, in the order of `metrics`;
 * and for each trained parameter `gradient.<name>`. If the graph accumulates, the input `sofar.<name>` is added to it.
 */
export function buildGradient(
  spec: DecoderSpec,
  objective: Objective,
  columns: readonly string[],
  { accumulate, isScaled = false, taught, ...options }: GradientOptions,
): Graph {
  const graph = new Graph(accumulate ? 'accumulate' : 'gradient')
  const parameters = declareParameters(graph, spec)
  const inputs = declarePacked(graph)
  const read = columnsRead(objective)
  const names: Statistic[] = ['logprob', 'entropy', ...PLACES.filter((name) => read.has(name))]
  const teacher = taught === undefined ? undefined : declareTeacher(graph, taught)
  const found = statistics(graph, spec, parameters, inputs, options, { wanted: names, teacher })
  const named = new Map<string, Value>(names.map((name) => [name, asTable(found[name]!, inputs)]))
  if (teacher) named.set(DIVERGENCE, asTable(found.divergence!, inputs))
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
