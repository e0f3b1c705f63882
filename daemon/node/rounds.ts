// Numbers the rounds of a node. A round's number seeds what it samples, so a number that came twice, after a crash, would
// write groups again that are in the pool already or that peers have. So numbers are reserved ahead in the database, and
// a node that was killed goes on behind the reserved ones. One that was stopped goes on where it was.

import type { Database } from '../store/database/database.ts'

export interface Rounds {
  /** The number of the next round. */
  readonly count: number
  /** Takes it. */
  next(): number
  /** Gives back what is reserved. Call when no round will begin any more, before the database closes. */
  close(): Promise<void>
}

/** A reservation is renewed at its half, so it is durable long before it is used up. */
const AHEAD = 64
const KEY = 'rounds'

/** `atLeast`: the number in the restored checkpoint. */
export async function openRounds(
  { atLeast }: { atLeast: number },
  { database }: { database: Database },
): Promise<Rounds> {
  const namespace = database.namespace('state')
  const stored = await namespace.get(KEY)
  let count = Math.max(atLeast, Number(stored ? Buffer.from(stored).toString() : 0) || 0)
  let reserved = 0
  const reserve = (to: number): void => {
    reserved = to
    namespace.write(KEY, Buffer.from(String(to)))
  }
  reserve(count + AHEAD)
  return {
    get count() {
      return count
    },
    next() {
      if (reserved - count <= AHEAD / 2) reserve(count + AHEAD)
      return count++
    },
    async close() {
      reserve(count)
      await database.flush()
    },
  }
}
