// Which peers are being asked for their heads, and what each head is compared with: this node's weights of about the time at
// which the peer made it. So an older head does not pull back what this node has learnt since.

import type { Vector } from './vector.ts'

export interface AskedOptions {
  /**
   * Whether others follow this node's steps by receipts. They know the weights that it had when it asked, and not those
   * without its latest steps.
   */
  isFollowed(): boolean
}

export interface Asked {
  /** This node has made a head at this time. `withoutSteps`: its weights without the steps since the head before. */
  made(at: number, withoutSteps: Vector | undefined): void
  /** The peers among these that are not being asked already; they are asked now, and the newest head is of these weights. */
  ask(peers: readonly string[], weights: Vector): string[]
  /** What a head of this peer is compared with, if it was so old, by the same clock. Undefined if the peer was not asked. */
  beside(peer: string, age: number): Vector | undefined
  /** The peer has answered, or will not. */
  answered(peer: string): void
  reset(): void
}

interface Then {
  now: Vector
  /** The weights without the steps since the head before, and how old that is. */
  before?: { weights: Vector; age: number } | undefined
}

export function createAsked({ isFollowed }: AskedOptions): Asked {
  let newest: { at: number; before?: Then['before'] } | undefined
  let asked = new Map<string, Then>()
  return {
    made(at, withoutSteps) {
      const before = newest && withoutSteps && { weights: withoutSteps, age: at - newest.at }
      newest = { at, before }
    },
    ask(peers, weights) {
      const free = peers.filter((peer) => !asked.has(peer))
      const before = isFollowed() ? undefined : newest?.before
      for (const peer of free) asked.set(peer, { now: weights, before })
      return free
    },
    beside(peer, age) {
      const { now, before } = asked.get(peer) ?? {}
      return before && age > before.age / 2 ? before.weights : now
    },
    answered(peer) {
      asked.delete(peer)
    },
    reset() {
      newest = undefined
      asked = new Map()
    },
  }
}
