// One node's part in the exchange of heads: when its own head is due, which heads of peers it takes, and how it joins
// them. It has no loop, no clock and no network. In a daemon the train loop drives it; experiments and the simulation
// drive many.
//
// Nobody waits for anybody. Every so many optimizer steps a node makes its head and asks peers for theirs. It goes on
// training, and joins what has arrived between two steps.

import { pack, packedSize, unpack } from './blocks.ts'
import { type AgedHead, join } from './join.ts'
import { distance, type Layout, type Vector } from './vector.ts'

export interface HeadExchangeOptions {
  layout: Layout
  /** The values that all nodes of the lineage began with. */
  origin: Vector
  /** Optimizer steps between two heads of this node. */
  every: number
}

/** Groups behind a node's weights: its own, and those of others. */
export interface Learnt {
  own: number
  foreign: number
}

/** A fetched head of a peer that may be averaged in. Its counts are the peer's claim. */
export interface FetchedHead extends Learnt {
  author: string
  version: number
  bytes: Uint8Array
}

/** What became of a head. */
export interface JoinedHead {
  author: string
  version: number
  own: number
  /** It was farther away than a peer's head counts for. */
  isClipped: boolean
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
  /** The peer with far more work behind its weights than this node, if there is one: to stand where it stands. */
  ahead(learnt: Learnt): { author: string; weights: Vector } | undefined
  join(now: { version: number; weights: Vector }): { weights: Vector; heads: JoinedHead[] }
  /** The weights were replaced by others, as by a roll-back: heads that wait do not belong to them. */
  reset(): void
}

interface Waiting extends Omit<AgedHead, 'age' | 'limit'>, Learnt {
  author: string
  version: number
  /** This node's version when it asked. */
  askedAt: number
}

/** A peer's head moves this node at most so many times as far as its own steps since the last exchange. */
const FARTHEST = 4
/** A head is one to catch up with if it has so many times this node's groups behind it, and some more. */
const AHEAD = { times: 2, groups: 16 }

export function createHeadExchange({ layout, origin, every }: HeadExchangeOptions): HeadExchange {
  const error = new Float32Array(layout.size)
  let began: { version: number; weights: Vector } | undefined
  /** After the last join. */
  let start = origin
  let movement = 0
  let waiting = new Map<string, Waiting>()
  let isComplete = false
  const isDue = (version: number): boolean => began === undefined || version >= began.version + every
  const groupsOf = ({ own, foreign }: Learnt): number => own + foreign

  return {
    size: packedSize(layout.size),
    isDue,

    make({ version, weights }) {
      const bytes = packBeside(weights, origin, error)
      movement = distance(weights, start) || movement
      began = { version, weights }
      isComplete = false
      return bytes
    },

    take({ bytes, ...head }) {
      const moved = began && unpack(bytes, layout.size)
      if (!began || !moved) return false
      for (let i = 0; i < moved.length; i++) moved[i]! += origin[i]!
      if (!moved.every(Number.isFinite)) return false
      waiting.set(head.author, { ...head, weights: moved, beside: began.weights, askedAt: began.version })
      return true
    },

    complete() {
      isComplete = true
    },

    isReady: (version) => waiting.size > 0 && (isComplete || isDue(version)),

    ahead(learnt) {
      const [best] = [...waiting.values()].sort((a, b) => groupsOf(b) - groupsOf(a))
      return best && groupsOf(best) >= AHEAD.times * groupsOf(learnt) + AHEAD.groups ? best : undefined
    },

    join({ version, weights }) {
      const heads = [...waiting.values()].map((head) => ({
        ...head,
        age: Math.max(0, version - head.askedAt) / every,
        limit: FARTHEST * movement,
      }))
      waiting = new Map()
      const joined = join(weights, heads)
      start = joined.weights
      return {
        weights: joined.weights,
        heads: heads.map(({ author, version: theirs, own }, i) => ({
          ...{ author, version: theirs, own },
          isClipped: joined.isClipped[i]!,
        })),
      }
    },

    reset() {
      waiting = new Map()
      began = undefined
      error.fill(0)
    },
  }
}

/** Packs how far the weights are from the origin, with what rounding has lost so far, and keeps what it loses now. */
function packBeside(weights: Vector, origin: Vector, error: Vector): Uint8Array<ArrayBuffer> {
  const moved = new Float32Array(weights.length)
  for (let i = 0; i < moved.length; i++) moved[i] = weights[i]! - origin[i]! + error[i]!
  const bytes = pack(moved)
  const got = unpack(bytes, moved.length)!
  for (let i = 0; i < error.length; i++) error[i] = moved[i]! - got[i]!
  return bytes
}
