// A bounded set of group IDs seen before. It survives restarts and forgets the oldest first. Without it, a group could
// be counted or credited twice once its first copy had left the pool.

import type { Database } from '../database/database.ts'

export interface Seen {
  readonly size: number
  /** False if the id was already in the set. */
  add(id: string): boolean
  has(id: string): boolean
}

export async function createSeen(
  { capacity }: { capacity: number },
  { database }: { database: Database },
): Promise<Seen> {
  // Keyed by order of arrival, so that a restart knows which are the oldest.
  const namespace = database.namespace('seen')
  const numbers = new Map<string, number>()
  let last = 0
  for await (const [key, value] of namespace.entries()) {
    last = Number(key)
    numbers.set(Buffer.from(value).toString('utf8'), last)
  }
  const trim = () => {
    for (const [id, number] of numbers) {
      if (numbers.size <= capacity) break
      numbers.delete(id)
      namespace.write(keyOf(number), undefined)
    }
  }
  trim()
  return {
    get size() {
      return numbers.size
    },
    has: (id) => numbers.has(id),
    add(id) {
      if (numbers.has(id)) return false
      numbers.set(id, ++last)
      namespace.write(keyOf(last), Buffer.from(id, 'utf8'))
      trim()
      return true
    },
  }
}

function keyOf(number: number): string {
  return String(number).padStart(15, '0')
}
