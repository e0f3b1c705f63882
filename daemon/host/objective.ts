// Assembles the objective from the corrections: exactly one loss, the product of all weights, the conjunction of all
// masks, and last the losses that replace all this on some tokens. Inconsistent corrections are reported here, before
// training; an engine would only fail in the middle of a step.

import { WaggleError } from '../../protocol/errors.ts'
import { missingColumns, type NamedCorrection, ownColumns } from '../../protocol/plugin/expression/columns.ts'
import { type Expression, expression } from '../../protocol/plugin/index.ts'

export interface PluginObjective {
  loss: Expression
  metrics: Record<string, Expression>
  /** The corrections' own columns, `<plugin>.<name>`, with their default values. */
  columns: Record<string, number>
}

/**
 * Throws E_PLUGIN, with one line per problem, unless there is exactly one loss and every column that is read exists.
 */
export function assembleObjective(corrections: readonly NamedCorrection[]): PluginObjective {
  const losses = corrections.filter(({ correction }) => correction.loss !== undefined)
  const problems = [...lossProblems(losses), ...missingColumns(corrections).map(({ message }) => message)]
  if (problems.length > 0) {
    throw new WaggleError('E_PLUGIN', problems.join('\n'), {
      hint: 'Keep exactly one correction with a loss, such as [[corrections]] use = "clip", and fix plugins that read a missing column.',
    })
  }
  let loss = losses[0]!.correction.loss!
  const metrics: Record<string, Expression> = {}
  for (const { name, correction } of corrections) {
    if (correction.weight !== undefined) loss = expression.mul(loss, correction.weight)
    for (const [metric, value] of Object.entries(correction.metrics ?? {}))
      metrics[`${name}.${metric}`] = value
  }
  for (const { correction } of corrections)
    if (correction.penalty !== undefined) loss = expression.add(loss, correction.penalty)
  for (const { correction } of corrections) {
    // `where` instead of a product, because masked values may be infinite.
    if (correction.mask !== undefined) loss = expression.where(correction.mask, loss, 0)
  }
  for (const { correction } of corrections) {
    const { instead } = correction
    if (instead !== undefined) loss = expression.where(instead.where, instead.loss, loss)
  }
  return { loss, metrics, columns: ownColumns(corrections) }
}

function lossProblems(losses: readonly NamedCorrection[]): string[] {
  if (losses.length === 1) return []
  const names = losses.map(({ name }) => name).join(', ')
  return [losses.length === 0 ? 'no correction gives a loss' : `several corrections give a loss: ${names}`]
}
