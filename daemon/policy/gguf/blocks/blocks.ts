// Unpacks blocks of 32 values with one F16 scale and, for the _1 types, one F16 minimum. The low four bits of the bytes
// hold the first half of the values, the high four bits the second half. The fifth bits, if any, are in a separate
// word. Bytes are processed in pairs.

import { halfValues } from '../../../engine/stored/halves.ts'
import { inByte, pairsOf, type Unpack } from './unpacked.ts'

const VALUES = 32
/** Pairs of bytes in a block that hold four bits of each value. */
const PAIRS = VALUES / 4

function fourBits({ hasMinimum }: { hasMinimum: boolean }): Unpack {
  const head = hasMinimum ? 2 : 1
  return (from, blocks, { numbers, scales, minimums }) => {
    const half = halfValues()
    const pairs = pairsOf(from)
    for (let block = 0; block < blocks; block++) {
      const start = block * (head + PAIRS)
      scales[block] = half[pairs[start]!]!
      if (hasMinimum) minimums[block] = half[pairs[start + 1]!]!
      const out = block * (VALUES / 2)
      for (let i = 0; i < PAIRS; i++) {
        const pair = pairs[start + head + i]!
        numbers[out + i] = inByte(pair)
        numbers[out + PAIRS + i] = inByte(pair >>> 4)
      }
    }
  }
}

/** `middle` is added to both numbers of a pair. Numbers in the file are from 0 to 31. */
function fiveBits({ hasMinimum, middle }: { hasMinimum: boolean; middle: number }): Unpack {
  const head = hasMinimum ? 4 : 3
  return (from, blocks, { numbers, scales, minimums }) => {
    const half = halfValues()
    const [pairs, out] = [pairsOf(from), pairsOf(numbers)]
    for (let block = 0; block < blocks; block++) {
      const start = block * (head + PAIRS)
      scales[block] = half[pairs[start]!]!
      if (hasMinimum) minimums[block] = half[pairs[start + 1]!]!
      const [ofLow, ofHigh] = [pairs[start + head - 2]!, pairs[start + head - 1]!]
      const low = block * (VALUES / 2)
      for (let i = 0; i < PAIRS; i++) {
        const pair = pairs[start + head + i]!
        out[low + i] = ((pair & 0x0f0f) | fifthBits(ofLow >>> (2 * i))) + middle
        out[low + PAIRS + i] = (((pair >>> 4) & 0x0f0f) | fifthBits(ofHigh >>> (2 * i))) + middle
      }
    }
  }
}

/** The two lowest bits, each moved to the fifth bit of one number of a pair. */
const fifthBits = (bits: number): number => ((bits & 1) << 4) | ((bits & 2) << 11)

export const q4_0 = fourBits({ hasMinimum: false })
export const q4_1 = fourBits({ hasMinimum: true })
/** In the file, 16 stands for 0. */
export const q5_0 = fiveBits({ hasMinimum: false, middle: 0x7070 })
export const q5_1 = fiveBits({ hasMinimum: true, middle: 0x8080 })

export const q8_0: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  const [pairs, out] = [pairsOf(from), pairsOf(numbers)]
  for (let block = 0; block < blocks; block++) {
    const start = block * (1 + VALUES / 2)
    scales[block] = half[pairs[start]!]!
    const to = block * (VALUES / 2)
    // Flipping the highest bit turns signed numbers into numbers from 0 to 255.
    for (let i = 0; i < VALUES / 2; i++) out[to + i] = pairs[start + 1 + i]! ^ 0x8080
  }
}
