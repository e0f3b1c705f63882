// Blocks of 32 values with one F16 scale, and for the _1 types one F16 minimum. Half of the values are in the low four
// bits of the bytes, the other half in the high ones; a fifth bit, if there is one, is in a word of its own.

import { halfValues } from '../../engine/stored/halves.ts'

/** Turns `blocks` blocks, one after the other in `from`, into values in `to` from `at` on. */
export type Dequantize = (from: Uint8Array, blocks: number, to: Float32Array, at: number) => void

const VALUES = 32
const HALF = VALUES / 2

/** value = scale * (number - offset) */
function scaled(bytes: number, offset: number, hasFifthBit: boolean): Dequantize {
  return (from, blocks, to, at) => {
    const half = halfValues()
    for (let block = 0; block < blocks; block++) {
      const start = block * bytes
      const out = at + block * VALUES
      const scale = half[from[start]! | (from[start + 1]! << 8)]!
      const fifth = hasFifthBit ? word(from, start + 2) : 0
      const numbers = start + (hasFifthBit ? 6 : 2)
      for (let i = 0; i < HALF; i++) {
        const byte = from[numbers + i]!
        to[out + i] = scale * ((byte & 15) + (((fifth >>> i) & 1) << 4) - offset)
        to[out + HALF + i] = scale * ((byte >>> 4) + (((fifth >>> (i + HALF)) & 1) << 4) - offset)
      }
    }
  }
}

/** value = scale * number + minimum */
function shifted(bytes: number, hasFifthBit: boolean): Dequantize {
  return (from, blocks, to, at) => {
    const half = halfValues()
    for (let block = 0; block < blocks; block++) {
      const start = block * bytes
      const out = at + block * VALUES
      const scale = half[from[start]! | (from[start + 1]! << 8)]!
      const least = half[from[start + 2]! | (from[start + 3]! << 8)]!
      const fifth = hasFifthBit ? word(from, start + 4) : 0
      const numbers = start + (hasFifthBit ? 8 : 4)
      for (let i = 0; i < HALF; i++) {
        const byte = from[numbers + i]!
        to[out + i] = scale * ((byte & 15) + (((fifth >>> i) & 1) << 4)) + least
        to[out + HALF + i] = scale * ((byte >>> 4) + (((fifth >>> (i + HALF)) & 1) << 4)) + least
      }
    }
  }
}

const word = (from: Uint8Array, at: number): number =>
  from[at]! | (from[at + 1]! << 8) | (from[at + 2]! << 16) | (from[at + 3]! << 24)

export const q4_0 = scaled(18, 8, false)
export const q4_1 = shifted(20, false)
export const q5_0 = scaled(22, 16, true)
export const q5_1 = shifted(24, true)

export const q8_0: Dequantize = (from, blocks, to, at) => {
  const half = halfValues()
  const numbers = new Int8Array(from.buffer, from.byteOffset, from.byteLength)
  for (let block = 0; block < blocks; block++) {
    const start = block * 34
    const out = at + block * VALUES
    const scale = half[from[start]! | (from[start + 1]! << 8)]!
    for (let i = 0; i < VALUES; i++) to[out + i] = scale * numbers[start + 2 + i]!
  }
}
