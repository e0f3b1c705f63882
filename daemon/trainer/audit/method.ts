// How a node learns, as a text that two nodes compare: what decides a step besides weights, moments and batch. Canonical
// JSON, so that equal methods are equal texts.

import type { OptimizerOptions } from '../../engine/engine.ts'
import type { Aggregation } from '../aggregation.ts'

export interface Method {
  /** As the config names them, with their settings. */
  estimator: object
  corrections: readonly object[]
  aggregation: Aggregation
  temperature: number
  minibatches: number
  optimizer: Pick<OptimizerOptions, 'beta1' | 'beta2' | 'epsilon' | 'weightDecay'>
  /** Digest of the tokenizer, and solved questions shown before one, by task. */
  tokenizer: string
  examples: Readonly<Record<string, number>>
}

export function methodText(method: Method): string {
  return JSON.stringify(sorted(method))
}

/** What in `theirs`, a text of a peer, is not as in `own`: for people. */
export function methodDifference(theirs: string, own: string): string {
  const [other, mine] = [fieldsOf(theirs), fieldsOf(own)]
  const apart = Object.keys(mine).filter((name) => other[name] !== mine[name])
  const [name] = apart
  if (name === undefined) return 'it learns by another method'
  return `it learns with another ${name}, ${(other[name] ?? 'none').slice(0, 200)} instead of ${mine[name]!.slice(0, 200)}`
}

function fieldsOf(text: string): Record<string, string> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return {}
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, JSON.stringify(field)]))
  } catch {
    return {}
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  )
}
