// Remembers the content of own groups and of verified foreign groups. Foreign content is remembered per author, so a
// damaged copy that arrives first cannot keep out the original. A foreign group's ID depends only on author and
// content: if it depended on earlier groups, a restart would admit the same group again under another ID.

import { createHash } from 'node:crypto'
import type { Clock } from '../types.ts'
import { LongMemory, SeenSet } from './seen.ts'

/** Two hours at 9 groups a second. About 100 bytes each. */
const CAPACITY = 65_536
/** Longer than the maximum age of a group plus any clock skew. */
const REMEMBER_MS = 4 * 3_600_000

export class SeenContent {
  /** Content ids of this node's own groups. */
  readonly wrote = new SeenSet({ capacity: CAPACITY })
  /** Ids of foreign groups. */
  readonly admitted = new SeenSet({ capacity: CAPACITY })
  private readonly before: LongMemory
  private readonly hasWritten: (id: string) => boolean

  constructor(
    { filterEntries }: { filterEntries?: number | undefined },
    {
      clock,
      salt,
      hasWritten = () => false,
    }: {
      clock: Clock
      salt?: Uint8Array | undefined
      /** Whether this node wrote this content, according to a record outside this class. */
      hasWritten?: ((id: string) => boolean) | undefined
    },
  ) {
    this.hasWritten = hasWritten
    this.before = new LongMemory({ forMs: REMEMBER_MS, entries: filterEntries }, { clock, salt })
  }

  /** True if this node is known to have written it. */
  isOwn(id: string): boolean {
    return this.wrote.has(id) || this.hasWritten(id)
  }

  /** True if this author has not sent this content before and this node did not write it. */
  isNew(author: string, id: string): boolean {
    const key = keyOf(author, id)
    return !this.isOwn(id) && !this.admitted.has(key) && !this.before.has(key)
  }

  /** Remembers the content. Returns the group's id. */
  admit(author: string, id: string): string {
    const key = keyOf(author, id)
    this.admitted.add(key)
    this.before.add(key)
    return key
  }
}

function keyOf(author: string, id: string): string {
  return createHash('sha256').update(`${author}/${id}`).digest('hex')
}
