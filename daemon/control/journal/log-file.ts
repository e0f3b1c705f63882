// The node's log on disk: all events except steps, groups and refusals, as rotated JSON lines without secrets.
// `waggle logs` reads it.

import type { Event } from '../../../protocol/api/index.ts'
import type { EventSource } from '../node/node.ts'
import { createJsonLines } from './json-lines.ts'

const TOO_MANY: ReadonlySet<Event['type']> = new Set(['step', 'group', 'refused', 'snapshot'])
const SECRET = /token|secret|password|passphrase|psk|private/i

interface LogFileOptions {
  path: string
  maxBytes?: number
  keep?: number
}

export function createLogFile(
  { path, maxBytes = 16 * 1024 * 1024, keep = 4 }: LogFileOptions,
  { events }: { events: EventSource },
): { close(): Promise<void> } {
  const lines = createJsonLines({ path, maxBytes, keep })
  const take = (event: Event): void => {
    if (!TOO_MANY.has(event.type)) lines.write(redacted(event))
  }
  for (const event of events.since(0).events) take(event)
  const unsubscribe = events.subscribe(take)
  return {
    async close() {
      unsubscribe()
      await lines.close()
    },
  }
}

/** The value, with every field masked whose name suggests a secret. */
export function redacted<T>(value: T): T {
  if (Array.isArray(value)) return value.map(redacted) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      SECRET.test(key) && (typeof inner === 'string' || typeof inner === 'object')
        ? '[removed]'
        : redacted(inner),
    ]),
  ) as T
}
