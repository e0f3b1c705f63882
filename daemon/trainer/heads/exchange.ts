// One node's part in the exchange of heads: when its own head is due, which heads of peers it takes, and how it joins
// them. It has no loop, no clock and no network. In a daemon the train loop drives it; experiments and the simulation
// drive many.
//
// Nobody waits for anybody. Every so many optimizer steps a node makes its head, which peers can fetch. It asks peers
// for theirs, goes on training, and joins all that have come between two steps. Then it asks again.

import { pack, packedSize, unpack } from './blocks.ts'
import { join } from './join.ts'
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

/** A head that is in this node's weights now. */
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
  /** Whether a head is due: it is so many steps since the last one, or there was none. */
  isDue(version: number): boolean
  /** Makes a head: the bytes that peers get. */
  make(now: { version: number; weights: Vector }): Uint8Array<ArrayBuffer>
  /** Begins to ask peers. What they send is compared with these weights. */
  ask(weights: Vector): void
  /** Takes a head that was asked for. False if it is malformed. */
  take(head: FetchedHead): boolean
  /** All heads that were asked for have arrived, or will not. */
  complete(): void
  /** Whether peers were asked and not all have answered. */
  readonly isAsking: boolean
  /** Whether there is something to join. */
  readonly isReady: boolean
  /** The peer with far more work behind its weights than this node, if there is one: to stand where it stands. */
  ahead(learnt: Learnt): { author: string; weights: Vector } | undefined
  join(weights: Vector): { weights: Vector; heads: JoinedHead[] }
  /** The weights were replaced by others, as by a roll-back: what was asked for does not belong to them. */
  reset(): void
}

interface Waiting extends Omit<FetchedHead, 'bytes'> {
  weights: Vector
}

/** A peer's head moves this node at most so many times as far as its own steps between two heads. */
const FARTHEST = 4
/** A head is one to catch up with if it has so many times this node's groups behind it, and some more. */
const AHEAD = { times: 2, groups: 16 }

export function createHeadExchange({ layout, origin, every }: HeadExchangeOptions): HeadExchange {
  const lost = new Float32Array(layout.size)
  let made: number | undefined
  /** Weights after the last head or join, and how far own steps have led from there at most. */
  let from = origin
  let movement = 0
  let asked: { beside: Vector; isComplete: boolean; heads: Map<string, Waiting> } | undefined
  const groupsOf = ({ own, foreign }: Learnt): number => own + foreign

  return {
    size: packedSize(layout.size),
    isDue: (version) => made === undefined || version >= made + every,

    make({ version, weights }) {
      movement = distance(weights, from) || movement
      from = weights
      made = version
      return packBeside(weights, origin, lost)
    },

    ask(weights) {
      asked = { beside: weights, isComplete: false, heads: new Map() }
    },

    take({ bytes, ...head }) {
      const weights = asked && !asked.isComplete ? unpack(bytes, layout.size) : undefined
      if (!asked || !weights) return false
      for (let i = 0; i < weights.length; i++) weights[i]! += origin[i]!
      if (!weights.every(Number.isFinite)) return false
      asked.heads.set(head.author, { ...head, weights })
      return true
    },

    complete() {
      if (asked) asked.isComplete = true
      if (asked?.heads.size === 0) asked = undefined
    },

    get isAsking() {
      return asked !== undefined && !asked.isComplete
    },

    get isReady() {
      return asked?.isComplete ?? false
    },

    ahead(learnt) {
      const [best] = [...(asked?.heads.values() ?? [])].sort((a, b) => groupsOf(b) - groupsOf(a))
      return best && groupsOf(best) >= AHEAD.times * groupsOf(learnt) + AHEAD.groups ? best : undefined
    },

    join(weights) {
      const { beside = weights, heads = new Map<string, Waiting>() } = asked ?? {}
      asked = undefined
      const all = [...heads.values()]
      const joined = join(
        weights,
        all.map((head) => head.weights),
        { beside, farthest: FARTHEST * movement },
      )
      from = joined.weights
      return {
        weights: joined.weights,
        heads: all.map(({ author, version, own }, i) => ({
          ...{ author, version, own },
          isClipped: joined.clipped[i]!,
        })),
      }
    },

    reset() {
      asked = undefined
      made = undefined
      lost.fill(0)
    },
  }
}

/** Packs how far the weights are from the origin, with what rounding has lost so far, and keeps what it loses now. */
function packBeside(weights: Vector, origin: Vector, lost: Vector): Uint8Array<ArrayBuffer> {
  const moved = new Float32Array(weights.length)
  for (let i = 0; i < moved.length; i++) moved[i] = weights[i]! - origin[i]! + lost[i]!
  const bytes = pack(moved)
  const got = unpack(bytes, moved.length)!
  for (let i = 0; i < lost.length; i++) lost[i] = moved[i]! - got[i]!
  return bytes
}
