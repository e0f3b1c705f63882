// Numbers the rounds of a node. A round's number seeds its sampling, so if a crash made a number repeat, the node would
// write groups again that are already in its pool or at peers. So numbers are reserved ahead in the database. After a
// crash, the node continues behind the reserved numbers; after a clean stop, it continues where it stopped.

import type { Database } from '../store/database/database.ts'

export interface Rounds {
  /** The number of the next round. */
  readonly count: number
  /** Takes the next number. */
  next(): number
  /** Releases the reserved numbers. Call after the last round, before the database closes. */
  close(): Promise<void>
}

/** The reservation is renewed when half is used, so that it is durable long before it is used up. */
const AHEAD = 64
const KEY = 'rounds'

/** `atLeast` is the number in the restored checkpoint. */
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
