// Whether a head follows from the weights that a receipt names: packing is exact arithmetic, so its bytes are equal on
// every machine.

import { packBeside } from '../heads/exchange.ts'
import type { Vector } from '../heads/vector.ts'
import { hashOf } from './state.ts'

/** SHA-256 of the head of these weights. `lost`: what rounding had lost before; nothing if it is undefined. */
export function headHash({
  weights,
  origin,
  lost,
}: {
  weights: Vector
  origin: Vector
  lost: Vector | undefined
}): string {
  return hashOf(packBeside(weights, origin, lost?.slice() ?? new Float32Array(weights.length)))
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
