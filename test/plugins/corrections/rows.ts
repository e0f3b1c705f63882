// Rows of columns for the tests of losses and corrections, and slopes by central differences.

import { CORRECTIONS } from '../../../plugins/corrections/index.ts'
import { ownColumns } from '../../../protocol/plugin/expression/columns.ts'
import { type Expression, evaluate } from '../../../protocol/plugin/expression/expression.ts'
import { withSettings } from '../samples.ts'

export type Columns = Record<string, number[]>

/** The built-in corrections' own columns, as they are where no hook gives them. */
const OWN = ownColumns(
  CORRECTIONS.flatMap((plugin) => {
    const correction = withSettings(plugin).correct?.()
    return correction ? [{ name: plugin.name, correction }] : []
  }),
)

/** A row whose unnamed columns are quiet: everything known, on-policy, fresh, own, advantage 1. */
export function rowOf(given: Columns): Columns {
  const length = Math.max(...Object.values(given).map((values) => values.length))
  const filled = (value: number): number[] => Array<number>(length).fill(value)
  return {
    logprob: filled(-1),
    entropy: filled(1),
    divergence: filled(0.3),
    mask: filled(1),
    proximal: given.logprob ?? filled(-1),
    reference: given.logprob ?? filled(-1),
    behaviour: given.proximal ?? given.logprob ?? filled(-1),
    known: filled(1),
    advantage: filled(1),
    staleness: filled(0),
    foreign: filled(0),
    ...Object.fromEntries(Object.entries(OWN).map(([name, value]) => [name, filled(value)])),
    ...given,
  }
}

export function valuesOf(expression: Expression | undefined, given: Columns): number[] {
  return Array.from(evaluate(expression!, rowOf(given)))
}

/** A one-token row with this ratio to the proximal policy, which wrote the token. */
export const atRatio = (ratio: number, advantage: number): Columns => ({
  logprob: [Math.log(ratio) - 1],
  proximal: [-1],
  advantage: [advantage],
})

/**
 * d(sum of the loss over masked tokens) / d(logprob of each token). What is detached is held at its value, by reading
 * `logprob` inside `detach` from a copy that does not move.
 */
export function slopesOf(loss: Expression | undefined, given: Columns): number[] {
  const row = rowOf(given)
  const still = holdDetached(loss!, false)
  const total = (logprob: number[]): number => {
    const values = evaluate(still, { ...row, logprob, held: row.logprob! })
    return values.reduce((sum, value, i) => sum + (row.mask![i] ? value : 0), 0)
  }
  const step = 1e-6
  return row.logprob!.map((_, at) => {
    const moved = (by: number): number[] => row.logprob!.map((value, i) => (i === at ? value + by : value))
    return (total(moved(step)) - total(moved(-step))) / (2 * step)
  })
}

function holdDetached(expression: Expression, inside: boolean): Expression {
  if (typeof expression === 'number') return expression
  if ('column' in expression)
    return inside && expression.column === 'logprob' ? { column: 'held' } : expression
  const within = inside || expression.op === 'detach'
  const of = Array.isArray(expression.of)
    ? expression.of.map((part) => holdDetached(part, within))
    : holdDetached(expression.of, within)
  return { op: expression.op, of } as Expression
}
