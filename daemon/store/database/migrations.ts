// Migrates a database from an older schema. The version is raised after each step's writes, so an interrupted step runs
// again from its start. Steps must therefore be idempotent.

import type { Log } from '../log.ts'
import { newerSchema } from './store-errors.ts'
import type { Writes } from './write-queue.ts'

/**
 * Reads the whole database, as full keys and values, and yields the writes that take it to the next schema.
 */
export interface Migration {
  summary: string
  run(level: LevelReader): AsyncIterable<[key: string, value: Uint8Array | undefined]>
}

interface LevelReader {
  get(key: string): Promise<Uint8Array | undefined>
  iterator(range: { gte?: string; lt?: string }): AsyncIterable<[string, Uint8Array]>
}

/** Sorts before every namespace. */
const SCHEMA_KEY = '!schema'
/** A new database starts at the newest schema; the first schema was 1. */
const FIRST = 1
const BATCH = 256

export async function migrate(
  { directory, migrations }: { directory: string; migrations: readonly Migration[] },
  { level, write, log }: { level: LevelReader; write: (writes: Writes) => Promise<void>; log: Log },
): Promise<void> {
  const current = FIRST + migrations.length
  const stored = await level.get(SCHEMA_KEY)
  const found = stored ? Number(Buffer.from(stored).toString()) : current
  const setVersion = (version: number) => write(new Map([[SCHEMA_KEY, Buffer.from(String(version))]]))
  if (!stored) return await setVersion(current)
  if (!(found <= current)) throw newerSchema(directory, found, current)

  for (let version = found; version < current; version++) {
    const { summary, run } = migrations[version - FIRST]!
    log('info', `database: schema ${version} to ${version + 1}: ${summary}`)
    let writes: Writes = new Map()
    for await (const [key, value] of run(level)) {
      writes.set(key, value)
      if (writes.size < BATCH) continue
      await write(writes)
      writes = new Map()
    }
    await write(writes)
    await setVersion(version + 1)
  }
}
