// One node's part in the exchange of heads: when its own head is due, which of peers' heads it takes, and how it joins
// them. It has no loop, no clock and no network. In a daemon the train loop drives it; experiments and the simulation
// drive many.
//
// Nobody waits for anybody. Every so many optimizer steps a node makes its head and asks peers for theirs. It goes on
// training, and joins what has arrived between two steps.

import { pack, packedSize, unpack } from './blocks.ts'
import { join, type PeerHead } from './join.ts'
import { distance, type Layout, type Vector } from './vector.ts'

export interface HeadExchangeOptions {
  layout: Layout
  /** The values that all nodes of the lineage began with. */
  origin: Vector
  /** Optimizer steps between two heads of this node. */
  every: number
}

/** A head of a peer that may be averaged in. */
export interface FetchedHead {
  author: string
  version: number
  bytes: Uint8Array
}

export interface Joined {
  weights: Vector
  heads: readonly { author: string; version: number; isClipped: boolean }[]
}

export interface HeadExchange {
  /** Bytes of a head. */
  readonly size: number
  /** Whether a head is due: this version is so many steps after the last exchange, or there was none. */
  isDue(version: number): boolean
  /** Begins an exchange. Returns the bytes that peers get. */
  make(now: { version: number; weights: Vector }): Uint8Array<ArrayBuffer>
  /** Takes a head that was asked for in this exchange. False if it is malformed. */
  take(head: FetchedHead): boolean
  /** All heads of this exchange have arrived, or will not. */
  complete(): void
  /** Whether there is something to join: the exchange is complete, or the next one is due. */
  isReady(version: number): boolean
  join(now: { version: number; weights: Vector }): Joined
  /** The weights were replaced by others, as by a roll-back: heads that wait no longer belong to them. */
  reset(): void
}

/** A peer's head moves this node at most so many times as far as its own steps since the last exchange. */
const FARTHEST = 4

export function createHeadExchange({ layout, origin, every }: HeadExchangeOptions): HeadExchange {
  const error = new Float32Array(layout.size)
  /** Of the present exchange. */
  let began: { version: number; weights: Vector } | undefined
  /** After the last join. */
  let start = origin
  let movement = 0
  let waiting = new Map<string, Omit<PeerHead, 'limit'> & { version: number }>()
  let isComplete = false

  return {
    size: packedSize(layout.size),

    isDue: (version) => began === undefined || version >= began.version + every,

    make({ version, weights }) {
      const moved = new Float32Array(layout.size)
      for (let i = 0; i < moved.length; i++) moved[i] = weights[i]! - origin[i]! + error[i]!
      const bytes = pack(moved)
      const got = unpack(bytes, layout.size)!
      for (let i = 0; i < error.length; i++) error[i] = moved[i]! - got[i]!
      const done = distance(weights, start)
      if (done > 0) movement = done
      began = { version, weights }
      isComplete = false
      return bytes
    },

    take({ author, version, bytes }) {
      const moved = began && unpack(bytes, layout.size)
      if (!began || !moved) return false
      for (let i = 0; i < moved.length; i++) moved[i]! += origin[i]!
      if (!moved.every(Number.isFinite)) return false
      waiting.set(author, { author, version, weights: moved, beside: began.weights, madeAt: began.version })
      return true
    },

    complete() {
      isComplete = true
    },

    isReady(version) {
      return waiting.size > 0 && (isComplete || this.isDue(version))
    },

    join({ version, weights }) {
      const heads = [...waiting.values()]
      waiting = new Map()
      const aged = heads.map((head) => ({
        ...head,
        age: Math.max(0, version - head.madeAt) / every,
        limit: FARTHEST * movement,
      }))
      const joined = join(weights, aged)
      start = joined.weights
      return {
        weights: joined.weights,
        heads: aged.map(({ author, version: theirs }, i) => ({
          author,
          version: theirs,
          isClipped: joined.isClipped[i]!,
        })),
      }
    },

    reset() {
      waiting = new Map()
      began = undefined
    },
  }
}
