// Copies keys and values between rows, one row per sequence, and kept pieces. Both hold plain arrays per layer.

import type { DecoderSpec } from '../../decoder.ts'
import type { Piece, Stretch } from './kept.ts'

/** Per layer [rows, kvHeads, capacity, headWidth]. */
export interface Rows {
  capacity: number
  keys: Float32Array[]
  values: Float32Array[]
}

/** Gives arrays' memory back at once. Otherwise it stays until the collector has found them: caches are large. */
export function freeArrays(arrays: readonly Float32Array[]): void {
  for (const { buffer } of arrays) (buffer as ArrayBuffer).transfer(0)
}

type Sizes = Pick<DecoderSpec, 'kvHeads' | 'headWidth'>

/** A copy of the keys and values of a row's tokens `from` (inclusive) to `to` (exclusive). */
export function cutRow(
  { keys, values, capacity }: Rows,
  row: number,
  [from, to]: [number, number],
  { kvHeads, headWidth }: Sizes,
): Stretch {
  const size = (to - from) * headWidth
  const cut = (layer: Float32Array): Float32Array => {
    const part = new Float32Array(kvHeads * size)
    for (let h = 0; h < kvHeads; h++) {
      const at = ((row * kvHeads + h) * capacity + from) * headWidth
      part.set(layer.subarray(at, at + size), h * size)
    }
    return part
  }
  return { length: to - from, keys: keys.map(cut), values: values.map(cut) }
}

/** Writes pieces to the start of a row. */
export function copyPieces(
  pieces: readonly Piece[],
  to: Rows,
  row: number,
  { kvHeads, headWidth }: Sizes,
): void {
  let position = 0
  for (const { stretch, used } of pieces) {
    for (const which of ['keys', 'values'] as const)
      stretch[which].forEach((layer, i) => {
        for (let h = 0; h < kvHeads; h++) {
          const from = h * stretch.length * headWidth
          const at = ((row * kvHeads + h) * to.capacity + position) * headWidth
          to[which][i]!.set(layer.subarray(from, from + used * headWidth), at)
        }
      })
    position += used
  }
}

/** Total number of tokens in the pieces. */
export function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { used }) => sum + used, 0)
}
