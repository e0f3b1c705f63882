// Whether a head follows from the weights that a receipt names: packing is exact arithmetic, so its bytes are equal on
// every machine.

import { packBeside } from '../heads/exchange.ts'
import { distance, norm, type Vector } from '../heads/vector.ts'
import { hashOf } from './state.ts'

/**
 * Rounding to eight bits loses at most 1/254 of a block's largest value in each of its 64 values, so 3.2 % of the
 * distance from the origin. A head made after a much longer one may have lost a little more.
 */
const MOST_LOST = 0.05

/** Whether these weights give the head of this SHA-256. `lost`: what rounding had lost before; nothing if undefined. */
export function isHeadOf(
  hash: string,
  { weights, origin, lost }: { weights: Vector; origin: Vector; lost: Vector | undefined },
): boolean {
  if (lost && norm(lost) > MOST_LOST * distance(weights, origin)) return false
  return hashOf(packBeside(weights, origin, lost?.slice() ?? new Float32Array(weights.length))) === hash
}

/**
 * Follows what rounding loses from head to head. `next` takes a new head, and gives what had been lost before it;
 * `unknown` if the head does not follow from the weights.
 */
export function createLost({ origin }: { origin(): Vector }): {
  next(head: { hash: string; weights: Vector }): Vector | undefined | 'unknown'
} {
  let lost: Vector | undefined
  return {
    next({ hash, weights }) {
      // A node that goes back to a checkpoint begins again with nothing lost.
      for (const before of lost ? [lost, undefined] : [undefined]) {
        const after = before?.slice() ?? new Float32Array(weights.length)
        if (hashOf(packBeside(weights, origin(), after)) !== hash) continue
        lost = after
        return before
      }
      lost = undefined
      return 'unknown'
    },
  }
}
