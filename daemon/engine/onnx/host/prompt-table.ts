// The keys and values of prompts that several running sequences continue, such as those of a group. Each is held once for
// up to eight of them, so that a step reads it once for all. Other prompts are in their sequence's row (`cache.ts`).

import type { DecoderSpec } from '../../decoder.ts'
import { MASKED } from '../../decoding/cache-mask.ts'
import type { Feeds } from '../runtime/runtime.ts'
import type { Piece } from './kept.ts'
import { copyPieces, freeArrays, lengthOf, type Rows } from './rows.ts'

/** Sequences that may share a row of the table. */
const SEATS = [8, 4, 2, 1]
/** A row's tokens are a multiple of this, so that few different sizes occur. */
const STRIDE = 32

/** A prompt is shared if this many of its tokens need not be read again for other sequences. Fewer save no time. */
const WORTHWHILE = 500

type Pieces = readonly Piece[]

interface Entry {
  slot: number
  pieces: Pieces
  /** Sequences that will start from it later. */
  waiting: number
}

export interface PromptTable {
  /** Tokens of a slot's prompt that are in the table: all or none. */
  lengthOf(slot: number): number
  /** Takes in those prompts that are worth sharing. Equal ones must be the same array. */
  load(entries: readonly Entry[]): void
  clear(slot: number): void
  /** Continues with only these slots, in this order. */
  resize(kept: readonly number[], slots: number): void
  /** What the sampling graph takes of prompts, for tokens at these positions. */
  feeds(positions: Int32Array): Feeds
  readonly sizes: { prompts: number; seats: number; shared: number }
  close(): void
}

type Spec = Pick<DecoderSpec, 'layers' | 'kvHeads' | 'headWidth' | 'local'>

export function createPromptTable(spec: Spec, slots: number): PromptTable {
  let prompts: (Pieces | undefined)[] = new Array(slots).fill(undefined)
  let table = createRows(spec, { rows: 0, seats: 1, length: 0 })
  let bias = new Float32Array()
  const waiting = new WeakMap<Pieces, number>()

  /** Finds a seat in a row of this prompt, or in an empty row. */
  const sit = (slot: number, pieces: Pieces): boolean => {
    const seat = table.seatFor(pieces)
    if (seat === undefined) return false
    table.slotAt[seat] = slot
    return true
  }
  const rebuild = (): void => {
    const live = prompts.filter((one) => one !== undefined)
    table.close()
    table = createRows(spec, sizesFor(live, waiting))
    prompts.forEach((pieces, slot) => {
      if (pieces) sit(slot, pieces)
    })
  }
  const updateBias = (): void => {
    const { length } = table
    bias = new Float32Array(prompts.length * length).fill(MASKED)
    prompts.forEach((pieces, slot) => {
      if (pieces) bias.fill(0, slot * length, slot * length + lengthOf(pieces))
    })
  }
  return {
    lengthOf: (slot) => lengthOf(prompts[slot] ?? []),
    load(entries) {
      const starting = Map.groupBy(entries, ({ pieces }) => pieces)
      for (const entry of entries) waiting.set(entry.pieces, entry.waiting)
      const taken = entries.filter(({ pieces, waiting }) => {
        const others = Math.min(SEATS[0]!, starting.get(pieces)!.length + waiting) - 1
        return table.hasSeat(pieces) || others * lengthOf(pieces) >= WORTHWHILE
      })
      if (taken.length === 0) return
      for (const { slot, pieces } of taken) prompts[slot] = pieces
      if (!taken.every(({ slot, pieces }) => sit(slot, pieces))) rebuild()
      updateBias()
    },
    clear(slot) {
      prompts[slot] = undefined
      bias.fill(MASKED, slot * table.length, (slot + 1) * table.length)
      const seat = table.slotAt.indexOf(slot)
      if (seat >= 0) table.slotAt[seat] = -1
    },
    resize(kept, next) {
      prompts = Array.from({ length: next }, (_, to) => prompts[kept[to] ?? -1])
      rebuild()
      updateBias()
    },
    feeds(positions) {
      const [places, seated] = [new Int32Array(prompts.length), new Float32Array(prompts.length)]
      table.slotAt.forEach((slot, seat) => {
        if (slot < 0) return
        places[slot] = seat
        seated[slot] = 1
      })
      return {
        ...table.feeds,
        ...{ members: table.slotAt.map((slot) => Math.max(0, slot)), places, seated, sharedBias: bias },
        ...(spec.local && { localSharedBias: nearBias(bias, table.length, positions, spec.local.window) }),
      }
    },
    get sizes() {
      return { prompts: table.rows, seats: table.seats, shared: table.length }
    },
    close: () => table.close(),
  }
}

/** Masks the tokens outside the sliding window as well. */
function nearBias(bias: Float32Array, length: number, positions: Int32Array, window: number): Float32Array {
  const near = bias.slice()
  positions.forEach((position, slot) => {
    const oldest = Math.min(length, Math.max(0, position - window + 1))
    near.fill(MASKED, slot * length, slot * length + oldest)
  })
  return near
}

interface TableSizes {
  rows: number
  /** Of each row. */
  seats: number
  length: number
}

/** As many seats a row as leave at most half of all empty, once those that wait have sat down in the rows that there are. */
function sizesFor(live: readonly Pieces[], waiting: WeakMap<Pieces, number>): TableSizes {
  const groups = [...Map.groupBy(live, (pieces) => pieces)]
  const rowsWith = (seats: number): number =>
    groups.reduce((sum, [, { length }]) => sum + Math.ceil(length / seats), 0)
  const takenOf = (seats: number): number =>
    groups.reduce((sum, [pieces, { length }]) => {
      const all = seats * Math.ceil(length / seats)
      return sum + Math.min(all, length + waiting.get(pieces)!)
    }, 0)
  const seats = SEATS.find((seats) => rowsWith(seats) * seats <= 2 * takenOf(seats))!
  const longest = Math.max(0, ...live.map(lengthOf))
  return { rows: rowsWith(seats), seats, length: STRIDE * Math.ceil(longest / STRIDE) }
}

interface TableRows extends TableSizes {
  /** The slot of each seat, row by row; -1 if it is free. */
  slotAt: Int32Array
  /** Whether a row of this prompt has a free seat. */
  hasSeat(pieces: Pieces): boolean
  /** A free seat for this prompt, which is in the table then; undefined if there is none. */
  seatFor(pieces: Pieces): number | undefined
  feeds: Feeds
  close(): void
}

function createRows(spec: Spec, { rows, seats, length }: TableSizes): TableRows {
  const count = Math.max(1, rows)
  const size = count * spec.kvHeads * length * spec.headWidth
  const make = (): Float32Array[] => Array.from({ length: spec.layers }, () => new Float32Array(size))
  const held: Rows = { capacity: length, keys: make(), values: make() }
  const slotAt = new Int32Array(count * seats).fill(-1)
  const promptOf: (Pieces | undefined)[] = new Array(count).fill(undefined)
  const seatsOf = (row: number): Int32Array => slotAt.subarray(row * seats, (row + 1) * seats)
  const rowOf = (pieces: Pieces): number =>
    promptOf.findIndex((one, row) => one === pieces && seatsOf(row).includes(-1))
  const feeds: Feeds = {}
  for (let layer = 0; layer < spec.layers; layer++) {
    feeds[`sharedKeys.${layer}`] = held.keys[layer]!
    feeds[`sharedValues.${layer}`] = held.values[layer]!
  }
  return {
    ...{ rows: count, seats, length, slotAt, feeds },
    hasSeat: (pieces) => rowOf(pieces) >= 0,
    seatFor(pieces) {
      let row = rowOf(pieces)
      if (row < 0 && lengthOf(pieces) <= length) {
        row = promptOf.findIndex((_, row) => seatsOf(row).every((slot) => slot < 0))
        if (row >= 0) {
          promptOf[row] = pieces
          copyPieces(pieces, held, row, spec)
        }
      }
      return row < 0 ? undefined : row * seats + seatsOf(row).indexOf(-1)
    },
    close: () => freeArrays([...held.keys, ...held.values]),
  }
}
