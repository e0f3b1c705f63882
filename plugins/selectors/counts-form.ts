// The encoding of counts, on disk and between peers, and the limits on their size. Equal tables give equal
// bytes.

import { z } from 'zod'

/** Prompt -> bucket -> [right, wrong]. */
export type Rows = Map<string, Map<number, [number, number]>>
export interface Table {
  /** The latest bucket that the peer has reported. */
  clock: number
  rows: Rows
}

export const PEERS = 16
const BUCKETS = 8
const PROMPTS = 8192
const SHARED_BYTES = 60_000

const whole = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const few = z.number().int().min(0).max(65_536)
const tableSchema = z.strictObject({
  clock: whole,
  rows: z
    .array(z.tuple([z.string().max(200), z.array(z.tuple([whole, few, few])).max(BUCKETS)]))
    .max(PROMPTS),
})
const savedSchema = z.array(z.tuple([z.string().max(200), tableSchema])).max(PEERS + 1)
type Written = z.infer<typeof tableSchema>

/** Keeps each prompt's newest buckets, and the most recently seen prompts. */
export function prune({ rows }: Table): void {
  for (const row of rows.values()) {
    if (row.size <= BUCKETS) continue
    for (const at of [...row.keys()].sort((a, b) => b - a).slice(BUCKETS)) row.delete(at)
  }
  if (rows.size <= PROMPTS) return
  const newest = (row: Map<number, unknown>): number => Math.max(-1, ...row.keys())
  const order = [...rows].sort(([a, x], [b, y]) => newest(y) - newest(x) || (a < b ? -1 : 1))
  for (const [key] of order.slice(PROMPTS)) rows.delete(key)
}

/** The form for peers: the most recently seen prompts, as many as fit into a message. */
export function encodeTable(table: Table): Uint8Array {
  const { clock, rows } = written(table)
  const newest = ([, buckets]: Written['rows'][number]): number => buckets.at(-1)?.[0] ?? -1
  let room = SHARED_BYTES
  const few = rows
    .sort((a, b) => newest(b) - newest(a) || (a[0] < b[0] ? -1 : 1))
    .filter((row) => {
      room -= JSON.stringify(row).length + 1
      return room >= 0
    })
  return encode({ clock, rows: few })
}

/** Undefined if the bytes are not a table. */
export function decodeTable(bytes: Uint8Array): Table | undefined {
  const read = tableSchema.safeParse(decode(bytes))
  return read.success ? tableOf(read.data) : undefined
}

export function encodeSaved(tables: ReadonlyMap<string, Table>): Uint8Array {
  return encode(
    [...tables].sort(([a], [b]) => (a < b ? -1 : 1)).map(([peer, table]) => [peer, written(table)]),
  )
}

export function decodeSaved(bytes: Uint8Array): Map<string, Table> {
  return new Map(savedSchema.parse(decode(bytes)).map(([peer, table]) => [peer, tableOf(table)]))
}

function written({ clock, rows }: Table): Written {
  return {
    clock,
    rows: [...rows]
      .map(([key, row]): Written['rows'][number] => [
        key,
        [...row].map(([at, [r, w]]): [number, number, number] => [at, r, w]).sort(([a], [b]) => a - b),
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  }
}

function tableOf({ clock, rows }: Written): Table {
  return {
    clock,
    rows: new Map(rows.map(([key, row]) => [key, new Map(row.map(([at, r, w]) => [at, [r, w]]))])),
  }
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

function decode(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
