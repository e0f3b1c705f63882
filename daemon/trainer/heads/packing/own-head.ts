// What peers have of this node's weights: its newest head. The next one is a change of it where that comes near.

import { addDifference, type Vector } from '../vector.ts'
import { packOff, unpackBeside } from './blocks.ts'
import { changeTo } from './changes.ts'

export interface MadeHead {
  /** A head stands by itself. */
  bytes: Uint8Array<ArrayBuffer>
  /** How it follows from the one before (./changes.ts); absent if it does not. */
  change?: Uint8Array<ArrayBuffer>
}

export interface OwnHead {
  /** A head from which the one before may be so far away, or it does not follow from that. */
  next(weights: Vector, farthest: number): MadeHead
  /** One in full precision, with what rounding lost in such heads right before. */
  whole(weights: Vector): Uint8Array<ArrayBuffer>
  /** The newest head, as weights. */
  weights(): Vector
}

export function createOwnHead({ origin }: { origin(): Vector }): OwnHead {
  let newest: Uint8Array<ArrayBuffer> | undefined
  let lost: Vector | undefined
  return {
    next(weights, farthest) {
      lost = undefined
      const wanted = new Float32Array(weights.length)
      addDifference(wanted, 1, weights, origin())
      const made = newest && changeTo(wanted, newest)
      const isNear = made !== undefined && made.apart <= farthest
      newest = isNear ? made.head : packOff(wanted)
      return { bytes: newest, ...(isNear && { change: made.change }) }
    },
    whole(weights) {
      lost ??= new Float32Array(weights.length)
      newest = packBeside(weights, origin(), lost)
      return newest
    },
    weights: () => unpackBeside(origin(), newest!)!,
  }
}

/** Packs how far the weights are from the origin, with what rounding has lost so far, and keeps what it loses now. */
export function packBeside(weights: Vector, origin: Vector, lost: Vector): Uint8Array<ArrayBuffer> {
  addDifference(lost, 1, weights, origin)
  return packOff(lost)
}
