// Two small uses of the database: a node's state as named JSON values, and series of numbers by step.

import { decode, encode } from 'cborg'
import type { Database } from './database.ts'
import type { Json } from './manifest.ts'

export interface StateStore {
  get(key: string): Promise<Json | undefined>
  /** Durable when it returns. */
  put(key: string, value: Json): Promise<void>
  del(key: string): Promise<void>
}

/** What does not read back as JSON is as good as absent. */
export function createStateStore(
  { name = 'state' }: { name?: string },
  { database }: { database: Database },
): StateStore {
  const namespace = database.namespace(name)
  return {
    async get(key) {
      const bytes = await namespace.get(key)
      if (!bytes) return undefined
      try {
        return JSON.parse(Buffer.from(bytes).toString('utf8')) as Json
      } catch {
        return undefined
      }
    },
    put: (key, value) => namespace.put(key, Buffer.from(JSON.stringify(value), 'utf8')),
    del: (key) => namespace.del(key),
  }
}

/** Numbers and words about one step. */
export type SeriesRecord = Record<string, number | string | boolean | null>

export interface StepSeries {
  /** A step that is written again, after a restart from a checkpoint, replaces what it was. */
  append(step: number, record: SeriesRecord): void
  /** Steps `from` up to but not including `to`, oldest first. */
  range(from?: number, to?: number): AsyncIterable<{ step: number; record: SeriesRecord }>
  /** The newest `count`, oldest first. */
  newest(count: number): Promise<Array<{ step: number; record: SeriesRecord }>>
  /** Forgets all steps from `step` on: what a run did after the checkpoint that it goes back to. */
  truncate(step: number): Promise<void>
}

export function createStepSeries(
  { name }: { name: string },
  { database }: { database: Database },
): StepSeries {
  const namespace = database.namespace(`series-${name}`)
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

/** Sorts by step: as many digits as the largest safe integer has. */
function keyOf(step: number): string {
  return String(step).padStart(16, '0')
}
