// Conversations in memory and on disk, oldest first and within bounds.

import { type Conversation, readConversation, writeConversation } from './conversation.ts'

export interface Bounds {
  most: number
  mostBytes: number
  /** ms. */
  longest: number
}

export interface Entry {
  conversation: Conversation
  /** Encoded. */
  bytes: number
}

export interface HeldParts {
  /** Where they are kept. `write` returns at once; `undefined` deletes. */
  records: {
    write(key: string, value: Uint8Array | undefined): void
    entries(): AsyncIterable<[key: string, value: Uint8Array]>
  }
  now(): number
  log(level: 'warn', message: string): void
}

export interface Held {
  readonly size: number
  /** Oldest first. */
  all(): Conversation[]
  /** Keeps it, or what has changed of it. */
  put(conversation: Conversation): void
  drop(ids: Iterable<string>): void
  /** Drops what exceeds the bounds. */
  expire(): void
}

/**
 * What must go, of all that is kept, oldest first: what is too old; then, while there is too much, answers that were learnt
 * from, and then all others; the oldest first.
 */
export function surplus(
  entries: readonly Entry[],
  { most, mostBytes, longest }: Bounds,
  now: number,
): Entry[] {
  const isOld = ({ conversation }: Entry): boolean => now - conversation.at > longest
  const isLearnt = ({ conversation }: Entry): boolean => conversation.isLearnt === true
  const rest = entries.filter((one) => !isOld(one))
  const gone = entries.filter(isOld)
  let [count, bytes] = [rest.length, rest.reduce((sum, one) => sum + one.bytes, 0)]
  for (const one of [...rest.filter(isLearnt), ...rest.filter((other) => !isLearnt(other))]) {
    if (count <= most && bytes <= mostBytes) break
    gone.push(one)
    count -= 1
    bytes -= one.bytes
  }
  return gone
}

export async function openHeld(bounds: Bounds, { records, now, log }: HeldParts): Promise<Held> {
  const entries = new Map<string, Entry>()
  const drop = (ids: Iterable<string>): void => {
    for (const id of ids) if (entries.delete(id)) records.write(id, undefined)
  }
  const found: Entry[] = []
  let damaged = 0
  for await (const [key, record] of records.entries()) {
    try {
      found.push({ conversation: readConversation(record), bytes: record.length })
    } catch {
      damaged += 1
      records.write(key, undefined)
    }
  }
  if (damaged > 0) log('warn', `${damaged} kept conversations could not be read and were deleted`)
  found.sort((a, b) => a.conversation.at - b.conversation.at)
  for (const one of found) entries.set(one.conversation.id, one)
  return {
    get size() {
      return entries.size
    },
    all: () => [...entries.values()].map(({ conversation }) => conversation),
    put(conversation) {
      const record = writeConversation(conversation)
      records.write(conversation.id, record)
      entries.set(conversation.id, { conversation, bytes: record.length })
    },
    drop,
    expire() {
      drop(surplus([...entries.values()], bounds, now()).map(({ conversation }) => conversation.id))
    },
  }
}
