// Which peers are being asked for their heads, and what each head is compared with: this node's own head of about the time at
// which the peer made it. So a head that is late, or lacks what does not fit in it yet, pulls back nothing that this node
// has learnt.

import { addDifference, type Vector } from './vector.ts'

export interface OwnMade {
  /** ms. */
  at: number
  /** What the head was made of. */
  weights: Vector
  /** What peers have of that. */
  stands: Vector
  /** The weights without the steps since the head before. Is changed. */
  withoutSteps: Vector | undefined
}

export interface Asked {
  /** This node has made a head. */
  made(head: OwnMade): void
  /** The peers among these that are not being asked already; they are asked now. */
  ask(peers: readonly string[]): string[]
  /** What a head of this peer is compared with, if it was so many ms old. Undefined if the peer was not asked. */
  beside(peer: string, age: number): Vector | undefined
  /** The peer has answered, or will not. */
  answered(peer: string): void
  readonly isAsking: boolean
  reset(): void
}

interface Then {
  now: Vector
  /** The head before, with all that was joined since, and how long ago that was. */
  before?: { stands: Vector; ms: number } | undefined
}

/**
 * `isFollowed`: whether others follow this node's steps by receipts. They know its weights at its heads, and not those less
 * some steps.
 */
export function createAsked({ isFollowed }: { isFollowed(): boolean }): Asked {
  let newest: (Omit<OwnMade, 'withoutSteps'> & Then) | undefined
  let asked = new Map<string, Then>()
  return {
    made({ withoutSteps, ...head }) {
      let before: Then['before']
      if (newest && withoutSteps && !isFollowed()) {
        if (newest.stands !== newest.weights) addDifference(withoutSteps, 1, newest.stands, newest.weights)
        before = { stands: withoutSteps, ms: head.at - newest.at }
      }
      newest = { ...head, now: head.stands, before }
    },
    ask(peers) {
      const free = newest ? peers.filter((peer) => !asked.has(peer)) : []
      for (const peer of free) asked.set(peer, { now: newest!.now, before: newest!.before })
      return free
    },
    beside(peer, age) {
      const { now, before } = asked.get(peer) ?? {}
      return before && age > before.ms / 2 ? before.stands : now
    },
    answered(peer) {
      asked.delete(peer)
    },
    get isAsking() {
      return asked.size > 0
    },
    reset() {
      newest = undefined
      asked = new Map()
    },
  }
}
