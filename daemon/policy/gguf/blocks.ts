// Blocks of 32 values with one F16 scale, and for the _1 types one F16 minimum. Half of the values are in the low four
// bits of the bytes, the other half in the high ones; a fifth bit, if there is one, is in a word of its own.

import { halfValues } from '../../engine/stored/halves.ts'
import type { Unpack } from './unpacked.ts'

const VALUES = 32
const HALF = VALUES / 2

/** value = scale * (number - offset), or scale * number + minimum. */
function nibbles(kind: { offset: number } | 'minimum', hasFifthBit: boolean): Unpack {
  const [hasMinimum, offset] = kind === 'minimum' ? [true, 0] : [false, kind.offset]
  const head = 2 + (hasMinimum ? 2 : 0) + (hasFifthBit ? 4 : 0)
  const bytes = head + HALF
  return (from, blocks, { numbers, scales, minimums }) => {
    const half = halfValues()
    for (let block = 0; block < blocks; block++) {
      const start = block * bytes
      const out = block * VALUES
      scales[block] = half[from[start]! | (from[start + 1]! << 8)]!
      if (hasMinimum) minimums[block] = half[from[start + 2]! | (from[start + 3]! << 8)]!
      const fifth = hasFifthBit ? word(from, start + head - 4) : 0
      for (let i = 0; i < HALF; i++) {
        const byte = from[start + head + i]!
        numbers[out + i] = ((byte & 15) | (((fifth >>> i) & 1) << 4)) - offset
        numbers[out + HALF + i] = ((byte >>> 4) | (((fifth >>> (i + HALF)) & 1) << 4)) - offset
      }
    }
  }
}

const word = (from: Uint8Array, at: number): number =>
  from[at]! | (from[at + 1]! << 8) | (from[at + 2]! << 16) | (from[at + 3]! << 24)

export const q4_0 = nibbles({ offset: 8 }, false)
export const q4_1 = nibbles('minimum', false)
export const q5_0 = nibbles({ offset: 16 }, true)
export const q5_1 = nibbles('minimum', true)

export const q8_0: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  const signed = new Int8Array(from.buffer, from.byteOffset, from.byteLength)
  for (let block = 0; block < blocks; block++) {
    const start = block * 34
    scales[block] = half[from[start]! | (from[start + 1]! << 8)]!
    numbers.set(signed.subarray(start + 2, start + 34), block * VALUES)
  }
}
