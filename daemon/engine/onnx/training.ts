// Training graphs: forward and backward, which give the trained parameters' gradients. Scoring is the forward part alone.
// The optimizer has graphs of its own (`optimizer.ts`), run once the gradient is known to be finite.

import type { DecoderSpec } from '../decoder.ts'
import { trainableShapes } from '../decoder.ts'
import type { Objective } from '../engine.ts'
import { gradients } from './autodiff.ts'
import { tokenStatistics } from './blocks.ts'
import { ANY_BATCH, declareGroupInputs, declareParameters, groupLogits, type Parameters } from './decoder.ts'
import { times } from './dimension.ts'
import { Graph, type Value } from './graph.ts'
import { lower, maskedSum } from './objective.ts'
import { add, concat, expand, mul, reshape } from './ops.ts'

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

/**
 * Forward and backward. Outputs `sums`: the loss's masked sum, then each metric's, in the order of `metrics`; and for each
 * trained parameter `gradient.<name>`, to which `sofar.<name>` is added if the graph accumulates.
 */
export function buildGradient(
  spec: DecoderSpec,
  objective: Objective,
  columns: readonly string[],
  { accumulate }: { accumulate: boolean },
): Graph {
  const graph = new Graph(accumulate ? 'accumulate' : 'gradient')
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

  const trained = [...trainableShapes(spec)]
  const found = gradients(
    loss,
    trained.map(([name]) => parameters.get(name)!),
  )
  trained.forEach(([name, shape], index) => {
    const gradient = found[index] ?? expand(graph.scalar(0), shape)
    const sofar = accumulate ? graph.input(`sofar.${name}`, 'float32', shape) : undefined
    graph.output(`gradient.${name}`, sofar ? add(sofar, gradient) : gradient)
  })
  return graph
}
