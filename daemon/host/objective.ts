// Puts the objective together from what the corrections give: one loss, all weights multiplied, all masks AND-ed.

import { WaggleError } from '../../protocol/errors.ts'
import { type Correction, type Expression, expression } from '../../protocol/plugin/index.ts'

export interface Objective {
  loss: Expression
  metrics: Record<string, Expression>
  /** Corrections' own columns, `<plugin>.<name>`, each with its value where nobody gives another. */
  columns: Record<string, number>
}

export function assembleObjective(
  corrections: readonly { name: string; correction: Correction }[],
): Objective {
  const losses = corrections.filter(({ correction }) => correction.loss !== undefined)
  if (losses.length !== 1) {
    const names = losses.map(({ name }) => name).join(', ')
    throw new WaggleError(
      'E_PLUGIN',
      losses.length === 0 ? 'no correction gives a loss' : `several corrections give a loss: ${names}`,
      {
        hint: 'Keep exactly one of them, such as [[corrections]] use = "clip".',
      },
    )
  }
  let loss = losses[0]!.correction.loss!
  const metrics: Record<string, Expression> = {}
  const columns: Record<string, number> = {}
  for (const { name, correction } of corrections) {
    if (correction.weight !== undefined) loss = expression.mul(loss, correction.weight)
    for (const [metric, value] of Object.entries(correction.metrics ?? {}))
      metrics[`${name}.${metric}`] = value
    for (const [column, value] of Object.entries(correction.columns ?? {}))
      columns[`${name}.${column}`] = value
  }
  for (const { correction } of corrections)
    if (correction.penalty !== undefined) loss = expression.add(loss, correction.penalty)
  for (const { correction } of corrections) {
    // where, not a product: what is masked may be infinite.
    if (correction.mask !== undefined) loss = expression.where(correction.mask, loss, 0)
  }
  return { loss, metrics, columns }
}
