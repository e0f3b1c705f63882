// Right and wrong answers per prompt, stored so that peers' counts can be merged at any time, in any order
// and any number of times. Counts are integers keyed by (peer, prompt, bucket of steps) that only grow; merging
// keeps the larger of two. Old counts are discounted only when read, by their own peer's clock; the table itself
// is never discounted.
//
// The size limits do not depend on the order of merges either: they keep the newest buckets of each prompt, the
// most recently seen prompts, and the peers whose names sort first.

import {
  decodeSaved,
  decodeTable,
  encodeSaved,
  encodeTable,
  PEERS,
  prune,
  type Table,
} from './counts-form.ts'

interface CountsOptions {
  /** Discount factors on a count for each later step, and for each later bucket of its prompt. */
  perStep: number
  perVisit: number
  /** Steps in a bucket. */
  bucket: number
  /** Maximum total weight of all peers' counts per prompt, in answers; 0 to ignore peers. */
  fromPeers: number
}

export interface Counts {
  add(key: string, step: number, right: number, wrong: number): void
  /** Discounted numbers of right and wrong answers. */
  read(key: string, step: number): { right: number; wrong: number }
  /** This node's own counts only. */
  share(step: number): Uint8Array
  /** Ignores bytes that are not a table of counts. */
  merge(bytes: Uint8Array, from: string): void
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

const SELF = ''

export function createCounts({ perStep, perVisit, bucket, fromPeers }: CountsOptions): Counts {
  let tables = new Map<string, Table>()
  const tableOf = (peer: string): Table => {
    const found = tables.get(peer) ?? { clock: 0, rows: new Map() }
    tables.set(peer, found)
    return found
  }

  const readOne = ({ clock, rows }: Table, key: string): [number, number] => {
    const buckets = [...(rows.get(key) ?? [])].sort(([a], [b]) => b - a)
    return buckets.reduce<[number, number]>(
      ([right, wrong], [at, [r, w]], later) => {
        const weight = perStep ** (Math.max(0, clock - at) * bucket) * perVisit ** later
        return [right + weight * r, wrong + weight * w]
      },
      [0, 0],
    )
  }

  return {
    add(key, step, right, wrong) {
      const own = tableOf(SELF)
      const at = Math.floor(step / bucket)
      const row = own.rows.get(key) ?? new Map<number, [number, number]>()
      const [r, w] = row.get(at) ?? [0, 0]
      row.set(at, [r + right, w + wrong])
      own.rows.set(key, row)
      own.clock = Math.max(own.clock, at)
      prune(own)
    },

    read(key, step) {
      const own = tableOf(SELF)
      own.clock = Math.max(own.clock, Math.floor(step / bucket))
      const [right, wrong] = readOne(own, key)
      let [theirRight, theirWrong] = [0, 0]
      for (const [peer, table] of tables) {
        if (peer === SELF) continue
        const [r, w] = readOne(table, key)
        theirRight += r
        theirWrong += w
      }
      const share = Math.min(1, fromPeers / Math.max(theirRight + theirWrong, 1e-12))
      return { right: right + share * theirRight, wrong: wrong + share * theirWrong }
    },

    share(step) {
      const { rows, clock } = tableOf(SELF)
      return encodeTable({ rows, clock: Math.max(clock, Math.floor(step / bucket)) })
    },

    merge(bytes, from) {
      const given = decodeTable(bytes)
      if (!given || from === SELF) return
      const table = tableOf(from)
      table.clock = Math.max(table.clock, given.clock)
      for (const [key, buckets] of given.rows) {
        const row = table.rows.get(key) ?? new Map<number, [number, number]>()
        for (const [at, [right, wrong]] of buckets) {
          const [r, w] = row.get(at) ?? [0, 0]
          row.set(at, [Math.max(r, right), Math.max(w, wrong)])
        }
        table.rows.set(key, row)
      }
      prune(table)
      const others = [...tables.keys()].filter((peer) => peer !== SELF).sort()
      for (const peer of others.slice(PEERS)) tables.delete(peer)
      // Floating-point sums depend on their order.
      tables = new Map([...tables].sort(([a], [b]) => (a < b ? -1 : 1)))
    },

    save: () => encodeSaved(tables),

    load(bytes) {
      tables = decodeSaved(bytes)
    },
  }
}
