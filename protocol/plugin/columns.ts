// Which columns corrections read, and which of them nobody gives.

import { didYouMean } from '../suggest.ts'
import { COLUMNS, columnsOf } from './expression.ts'
import type { Correction } from './hooks.ts'

export interface NamedCorrection {
  /** The plugin's. */
  name: string
  correction: Correction
}

/** Corrections' own columns, `<plugin>.<name>`, each with its value where nobody gives another. */
export function ownColumns(corrections: readonly NamedCorrection[]): Record<string, number> {
  return Object.fromEntries(
    corrections.flatMap(({ name, correction }) =>
      Object.entries(correction.columns ?? {}).map(([column, value]) => [`${name}.${column}`, value]),
    ),
  )
}

/** Each column that is read and that neither the engine nor one of these corrections gives, with what to say of it. */
export function missingColumns(
  corrections: readonly NamedCorrection[],
): { column: string; message: string }[] {
  const known: readonly string[] = [...COLUMNS, ...Object.keys(ownColumns(corrections))]
  return corrections.flatMap(({ name, correction }) =>
    columnsReadBy(correction)
      .filter((column) => !known.includes(column))
      .map((column) => ({
        column,
        message: `correction "${name}" reads a column "${column}", which neither the engine nor a plugin gives.${didYouMean(column, known)} There are ${known.join(', ')}`,
      })),
  )
}

function columnsReadBy({ loss, weight, mask, penalty, metrics = {} }: Correction): string[] {
  const all = [loss, weight, mask, penalty, ...Object.values(metrics)]
  return [...new Set(all.flatMap((e) => (e === undefined ? [] : columnsOf(e))))].sort()
}
