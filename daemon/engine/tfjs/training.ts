// The gradients of an objective over a batch, by TensorFlow's own rules, one micro-batch after another.

import type { GradientRequest, Objective } from '../engine.ts'
import { columnsRead, taughtIn } from '../inputs.ts'
import { DIVERGENCE, PLACES } from '../trainer.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { type Batch, cut, tableOf, teacherOf } from './batch.ts'
import type { Model } from './decoder.ts'
import { lower, maskedSum } from './objective.ts'
import { statistics } from './statistics.ts'

export interface Gradients {
  /** In the order of the parameters. The caller disposes of them. */
  gradients: Tensor[]
  /** The loss's masked sum, then each metric's, in the order of the metrics. */
  totals: Float64Array
  completionTokens: number
  realTokens: number
  computedTokens: number
  microBatches: number
}

type Tables = ReadonlyMap<string, Float32Array>

/** All input is checked before the first gradient is computed. */
export function gradientsOf(
  model: Model,
  request: Omit<GradientRequest, 'into'>,
  microBatchTokens: number,
): Gradients {
  const { tf } = model
  const { sequences, objective } = request
  const columns = [...new Set(['mask', ...sequences.flatMap((sequence) => Object.keys(sequence.columns))])]
  const batches = cut(sequences, microBatchTokens)
  const tables = batches.map(
    (batch): Tables => new Map(columns.map((column) => [column, tableOf(sequences, batch, column)])),
  )
  checkObjective(tf, objective, columns)
  const taught = taughtIn(request, model.spec)

  const totals = new Float64Array(1 + Object.keys(objective.metrics).length)
  let completionTokens = 0
  let gradients: Tensor[] | undefined
  batches.forEach((batch, i) => {
    const found = ofBatch(model, { ...request, taught }, batch, tables[i]!)
    found.sums.forEach((sum, j) => {
      totals[j] = totals[j]! + sum
    })
    for (const value of tables[i]!.get('mask')!) completionTokens += value
    const sofar = gradients
    gradients = sofar?.map((sum, j) => tf.add(sum, found.gradients[j]!)) ?? found.gradients
    if (sofar) tf.dispose([...sofar, ...found.gradients])
    request.onProgress?.((i + 1) / batches.length)
  })
  return {
    gradients: gradients!,
    totals,
    completionTokens,
    realTokens: batches.reduce((total, batch) => total + batch.realTokens, 0),
    computedTokens: batches.reduce((total, batch) => total + batch.tokens.length, 0),
    microBatches: batches.length,
  }
}

function ofBatch(
  model: Model,
  {
    sequences,
    objective,
    temperature,
    denominator,
    taught,
  }: Omit<GradientRequest, 'into'> & { taught: number | undefined },
  batch: Batch,
  tables: Tables,
): { gradients: Tensor[]; sums: Float32Array } {
  const { tf, trained } = model
  let sums = new Float32Array()
  const loss = (): Tensor => {
    const pit = PLACES.some((name) => columnsRead(objective).has(name))
    const teacher = taught === undefined ? undefined : teacherOf(sequences, batch, taught)
    const columns = new Map(Object.entries(statistics(model, batch, temperature, { pit, teacher })))
    for (const [name, table] of tables)
      columns.set(name, tf.tensor(table, [batch.members.length, batch.width]))
    const totals = totalsOf(tf, objective, columns)
    sums = Float32Array.from(totals, (total) => total.dataSync()[0]!)
    return tf.div(totals[0]!, denominator)
  }
  const gradients = tf.tidy(() => {
    const inputs = Object.values(trained)
    // Not variableGrads, which refuses a loss that depends on no weight. Here its gradient is zero.
    const { grads } = tf.engine().gradients(loss as never, inputs, undefined, true)
    return inputs.map((input, i) => (grads[i] as Tensor | null) ?? tf.zerosLike(input))
  })
  return { gradients, sums }
}

/**
 * Refuses an objective that cannot be lowered, by trying it on tables of one cell: an error in the middle of a tape
 * would leak the tensors that the tape has saved.
 */
function checkObjective(tf: Tensorflow, objective: Objective, columns: readonly string[]): void {
  tf.tidy(() => {
    const cell: Tensor = tf.ones([1, 1])
    totalsOf(
      tf,
      objective,
      new Map(['logprob', 'entropy', ...PLACES, DIVERGENCE, ...columns].map((name) => [name, cell])),
    )
  })
}

function totalsOf(tf: Tensorflow, { loss, metrics }: Objective, columns: Map<string, Tensor>): Tensor[] {
  const mask = columns.get('mask')!
  return [loss, ...Object.values(metrics)].map((formula) => maskedSum(tf, lower(tf, formula, columns), mask))
}
