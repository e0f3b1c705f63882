// Which positions of a KV cache hold tokens.

import type { DecoderSpec } from '../decoder.ts'
import type { CacheSize } from './sequence-cache.ts'

export const MASKED = -1e9

interface CacheMask extends Readonly<CacheSize> {
  /** [slots, capacity]: 0 at every token, a large negative number elsewhere. */
  readonly bias: Float32Array
  /** The slot holds this many tokens, and no others. */
  hold(slot: number, length: number): void
  add(slot: number, position: number): void
  /** Continues with only these slots, in this order. */
  resize(kept: readonly number[], size: CacheSize): void
}

export function createCacheMask(size: CacheSize): CacheMask {
  let { slots, capacity } = size
  let bias = new Float32Array(slots * capacity).fill(MASKED)
  return {
    get slots() {
      return slots
    },
    get capacity() {
      return capacity
    },
    get bias() {
      return bias
    },
    hold(slot, length) {
      bias.fill(0, slot * capacity, slot * capacity + length)
      bias.fill(MASKED, slot * capacity + length, (slot + 1) * capacity)
    },
    add(slot, position) {
      bias[slot * capacity + position] = 0
    },
    resize(kept, next) {
      const made = new Float32Array(next.slots * next.capacity).fill(MASKED)
      const shared = Math.min(capacity, next.capacity)
      kept.forEach((from, to) => {
        made.set(bias.subarray(from * capacity, from * capacity + shared), to * next.capacity)
      })
      bias = made
      ;({ slots, capacity } = next)
    },
  }
}

/** The mask's bias, with tokens outside the sliding window also masked; undefined if there is no window. */
export function localBias(
  { local }: DecoderSpec,
  { bias, capacity }: CacheMask,
  positions: Int32Array,
): Float32Array | undefined {
  if (!local) return undefined
  const near = bias.slice()
  positions.forEach((position, slot) => {
    const oldest = Math.max(0, position - local.window + 1)
    near.fill(MASKED, slot * capacity, slot * capacity + oldest)
  })
  return near
}

/** Positions as graphs take them; an empty slot's is 0. */
export function fedPositions(positions: Int32Array): BigInt64Array {
  return BigInt64Array.from(positions, (position) => BigInt(Math.max(0, position)))
}
