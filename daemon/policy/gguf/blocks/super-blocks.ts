// Unpacks the "K" types: blocks of 256 values with F16 scales, split into groups of 16 or 32 with small whole numbers
// as scales of their own. The product of both scales is exact in F32. Numbers are processed in pairs.

import { halfValues } from '../../../engine/stored/halves.ts'
import { inByte, pairsOf, type Unpack } from './unpacked.ts'

const VALUES = 256
const PAIRS = VALUES / 2

/** The scale and minimum of one of 8 groups, 6 bits each. All of them take 12 bytes (Q4_K, Q5_K). */
function sixBits(from: Uint8Array, at: number, group: number): [scale: number, minimum: number] {
  if (group < 4) return [from[at + group]! & 63, from[at + group + 4]! & 63]
  const low = from[at + group + 4]!
  return [(low & 15) | ((from[at + group - 4]! >>> 6) << 4), (low >>> 4) | ((from[at + group]! >>> 6) << 4)]
}

export const q2_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  const pairs = pairsOf(from)
  for (let block = 0; block < blocks; block++) {
    const start = block * 84
    const scale = half[from[start + 80]! | (from[start + 81]! << 8)]!
    const least = half[from[start + 82]! | (from[start + 83]! << 8)]!
    for (let group = 0; group < 16; group++) {
      const both = from[start + group]!
      scales[block * 16 + group] = scale * (both & 15)
      minimums[block * 16 + group] = -least * (both >>> 4)
    }
    for (let i = 0; i < PAIRS; i++) {
      const two = pairs[start / 2 + 8 + ((i >>> 6) << 4) + (i & 15)]! >>> (((i >>> 4) & 3) << 1)
      numbers[block * PAIRS + i] = inByte(two & 0x0303)
    }
  }
}

export const q3_K: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  const pairs = pairsOf(from)
  for (let block = 0; block < blocks; block++) {
    const start = block * 110
    const scale = half[from[start + 108]! | (from[start + 109]! << 8)]!
    for (let group = 0; group < 16; group++) {
      // Four bits of the scales are in the first 8 bytes, two more in the last 4.
      const low = (from[start + 96 + (group & 7)]! >>> (group < 8 ? 0 : 4)) & 15
      const high = (from[start + 104 + (group & 3)]! >>> ((group >>> 2) << 1)) & 3
      scales[block * 16 + group] = scale * ((low | (high << 4)) - 32)
    }
    for (let i = 0; i < PAIRS; i++) {
      const low = pairs[start / 2 + 16 + ((i >>> 6) << 4) + (i & 15)]! >>> (((i >>> 4) & 3) << 1)
      const high = pairs[start / 2 + (i & 15)]! >>> (i >>> 4)
      // From 0 to 7, where 4 stands for 0.
      numbers[block * PAIRS + i] = inByte(((low & 0x0303) | ((high & 0x0101) << 2)) + 0x0404)
    }
  }
}

export const q4_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  const pairs = pairsOf(from)
  for (let block = 0; block < blocks; block++) {
    const start = block * 144
    const scale = half[from[start]! | (from[start + 1]! << 8)]!
    const least = half[from[start + 2]! | (from[start + 3]! << 8)]!
    for (let group = 0; group < 8; group++) {
      const [ofGroup, leastOfGroup] = sixBits(from, start + 4, group)
      scales[block * 8 + group] = scale * ofGroup
      minimums[block * 8 + group] = -least * leastOfGroup
    }
    // The low halves of 32 bytes are one group, the high halves the next.
    for (let two = 0; two < 4; two++) {
      const at = start / 2 + 8 + (two << 4)
      const out = block * PAIRS + (two << 5)
      for (let i = 0; i < 16; i++) {
        const pair = pairs[at + i]!
        numbers[out + i] = inByte(pair)
        numbers[out + 16 + i] = inByte(pair >>> 4)
      }
    }
  }
}

export const q5_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  const [pairs, out] = [pairsOf(from), pairsOf(numbers)]
  for (let block = 0; block < blocks; block++) {
    const start = block * 176
    const scale = half[from[start]! | (from[start + 1]! << 8)]!
    const least = half[from[start + 2]! | (from[start + 3]! << 8)]!
    for (let group = 0; group < 8; group++) {
      const [ofGroup, leastOfGroup] = sixBits(from, start + 4, group)
      scales[block * 8 + group] = scale * ofGroup
      minimums[block * 8 + group] = -least * leastOfGroup
      const at = start / 2 + 24 + ((group >>> 1) << 4)
      const shift = (group & 1) << 2
      const to = block * PAIRS + (group << 4)
      for (let i = 0; i < 16; i++) {
        const fifth = (pairs[start / 2 + 8 + i]! >>> group) & 0x0101
        out[to + i] = (((pairs[at + i]! >>> shift) & 0x0f0f) | (fifth << 4)) + 0x8080
      }
    }
  }
}

export const q6_K: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  const [pairs, out] = [pairsOf(from), pairsOf(numbers)]
  for (let block = 0; block < blocks; block++) {
    const start = block * 210
    const scale = half[from[start + 208]! | (from[start + 209]! << 8)]!
    for (let group = 0; group < 16; group++)
      scales[block * 16 + group] = scale * ((from[start + 192 + group]! << 24) >> 24)
    for (let eighth = 0; eighth < 8; eighth++) {
      const [part, quarter] = [eighth >>> 2, eighth & 3]
      const low = start / 2 + (part << 5) + ((quarter & 1) << 4)
      const lowShift = (quarter >>> 1) << 2
      const high = start / 2 + 64 + (part << 4)
      const to = block * PAIRS + (eighth << 4)
      for (let i = 0; i < 16; i++) {
        const four = (pairs[low + i]! >>> lowShift) & 0x0f0f
        const two = (pairs[high + i]! >>> (quarter << 1)) & 0x0303
        // From 0 to 63, where 32 stands for 0.
        out[to + i] = (four | (two << 4)) + 0x6060
      }
    }
  }
}
