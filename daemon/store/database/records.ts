// Series of records by step, kept in the database.

import { decode, encode } from 'cborg'
import type { Database, Namespace } from './database.ts'

/** Values recorded for one step. */
type SeriesRecord = Record<string, number | string | boolean | null>

export interface StepSeries {
  /** Replaces an earlier record of this step, as needed after a restart from a checkpoint. */
  append(step: number, record: SeriesRecord): void
  /** Steps `from` (inclusive) to `to` (exclusive), oldest first. */
  range(from?: number, to?: number): AsyncIterable<{ step: number; record: SeriesRecord }>
  /** The newest `count` records, oldest first. */
  newest(count: number): Promise<Array<{ step: number; record: SeriesRecord }>>
  /** Deletes the records from `step` on, for a roll-back to an earlier checkpoint. */
  truncate(step: number): Promise<void>
}

interface SeriesOptions {
  name: string
  /** Hex digits. Each lineage has a series of its own; without one, it is that of homes before lineages. */
  lineage?: string | undefined
}

const namespaceOf = ({ name, lineage }: SeriesOptions, database: Database): Namespace =>
  database.namespace(lineage === undefined ? `series-${name}` : `series-${name}-${lineage.slice(0, 16)}`)

/** Moves what has no lineage to this one. Harmless if it was interrupted, or done before. */
export async function adoptSeries(
  { name, lineage }: Required<SeriesOptions>,
  { database }: { database: Database },
): Promise<void> {
  const [from, to] = [namespaceOf({ name }, database), namespaceOf({ name, lineage }, database)]
  for await (const [key, value] of from.entries()) {
    to.write(key, value)
    from.write(key, undefined)
  }
  await database.flush()
}

export function createStepSeries(options: SeriesOptions, { database }: { database: Database }): StepSeries {
  const namespace = namespaceOf(options, database)
  const read = ([key, value]: [string, Uint8Array]) => ({
    step: Number(key),
    record: decode(value) as SeriesRecord,
  })
  return {
    append: (step, record) => namespace.write(keyOf(step), encode(record)),
    async *range(from = 0, to = Number.MAX_SAFE_INTEGER) {
      for await (const entry of namespace.entries({ gte: keyOf(from), lt: keyOf(to) })) yield read(entry)
    },
    async newest(count) {
      const found = []
      for await (const entry of namespace.entries({ reverse: true, limit: count })) found.push(read(entry))
      return found.reverse()
    },
    async truncate(step) {
      for await (const [key] of namespace.entries({ gte: keyOf(step) })) namespace.write(key, undefined)
      await database.flush()
    },
  }
}

/** Padded to the length of the largest safe integer, so that keys sort by step. */
function keyOf(step: number): string {
  return String(step).padStart(16, '0')
}
