// Finds the columns that corrections read, and those of them that nobody provides.

import { didYouMean } from '../../suggest.ts'
import type { Correction } from '../hooks.ts'
import { COLUMNS, columnsOf } from './expression.ts'

export interface NamedCorrection {
  /** The plugin's name. */
  name: string
  correction: Correction
}

/** The columns that corrections define, keyed `<plugin>.<name>`, with their default values. */
export function ownColumns(corrections: readonly NamedCorrection[]): Record<string, number> {
  return Object.fromEntries(
    corrections.flatMap(({ name, correction }) =>
      Object.entries(correction.columns ?? {}).map(([column, value]) => [`${name}.${column}`, value]),
    ),
  )
}

/**
 * Columns that are read but provided neither by the engine nor by these corrections, each with an error message.
 */
export function missingColumns(
  corrections: readonly NamedCorrection[],
): { column: string; message: string }[] {
  const known: readonly string[] = [...COLUMNS, ...Object.keys(ownColumns(corrections))]
  return corrections.flatMap(({ name, correction }) =>
    columnsReadBy(correction)
      .filter((column) => !known.includes(column))
      .map((column) => ({
        column,
        message: `correction "${name}" reads a column "${column}", which neither the engine nor a plugin provides.${didYouMean(column, known)} There are ${known.join(', ')}`,
      })),
  )
}

/** The names of all columns that the correction's expressions read, sorted. */
export function columnsReadBy(correction: Correction): string[] {
  const { loss, weight, mask, penalty, instead, metrics = {} } = correction
  const all = [loss, weight, mask, penalty, instead?.where, instead?.loss, ...Object.values(metrics)]
  return [...new Set(all.flatMap((e) => (e === undefined ? [] : columnsOf(e))))].sort()
}
