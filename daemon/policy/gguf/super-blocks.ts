// The "K" types: blocks of 256 values with F16 scales, split into groups of 16 or 32 whose own scales are small whole
// numbers. The products of both are exact in F32.

import { halfValues } from '../../engine/stored/halves.ts'
import type { Unpack } from './unpacked.ts'

const VALUES = 256

/** Scales and minimums of 8 groups, 6 bits each, in 12 bytes (Q4_K, Q5_K). */
function sixBits(from: Uint8Array, at: number, group: number): [scale: number, minimum: number] {
  if (group < 4) return [from[at + group]! & 63, from[at + group + 4]! & 63]
  const low = from[at + group + 4]!
  return [(low & 15) | ((from[at + group - 4]! >>> 6) << 4), (low >>> 4) | ((from[at + group]! >>> 6) << 4)]
}

export const q2_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  for (let block = 0; block < blocks; block++) {
    const start = block * 84
    const scale = half[from[start + 80]! | (from[start + 81]! << 8)]!
    const least = half[from[start + 82]! | (from[start + 83]! << 8)]!
    for (let group = 0; group < 16; group++) {
      const both = from[start + group]!
      scales[block * 16 + group] = scale * (both & 15)
      minimums[block * 16 + group] = -least * (both >>> 4)
    }
    for (let i = 0; i < VALUES; i++) {
      const byte = from[start + 16 + ((i >>> 7) << 5) + (i & 31)]!
      numbers[block * VALUES + i] = (byte >>> (((i >>> 5) & 3) << 1)) & 3
    }
  }
}

export const q3_K: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  for (let block = 0; block < blocks; block++) {
    const start = block * 110
    const scale = half[from[start + 108]! | (from[start + 109]! << 8)]!
    for (let group = 0; group < 16; group++) {
      // Four bits in the first 8 bytes, two more in the last 4.
      const low = (from[start + 96 + (group & 7)]! >>> (group < 8 ? 0 : 4)) & 15
      const high = (from[start + 104 + (group & 3)]! >>> ((group >>> 2) << 1)) & 3
      scales[block * 16 + group] = scale * ((low | (high << 4)) - 32)
    }
    for (let i = 0; i < VALUES; i++) {
      const byte = from[start + 32 + ((i >>> 7) << 5) + (i & 31)]!
      const low = (byte >>> (((i >>> 5) & 3) << 1)) & 3
      const high = (from[start + (i & 31)]! >>> (i >>> 5)) & 1
      numbers[block * VALUES + i] = low - (high === 1 ? 0 : 4)
    }
  }
}

export const q4_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  for (let block = 0; block < blocks; block++) {
    const start = block * 144
    const scale = half[from[start]! | (from[start + 1]! << 8)]!
    const least = half[from[start + 2]! | (from[start + 3]! << 8)]!
    for (let group = 0; group < 8; group++) {
      const [ofGroup, leastOfGroup] = sixBits(from, start + 4, group)
      scales[block * 8 + group] = scale * ofGroup
      minimums[block * 8 + group] = -least * leastOfGroup
    }
    // The low bits of 32 bytes are one group, the high bits the next.
    for (let pair = 0; pair < 4; pair++) {
      const packed = start + 16 + (pair << 5)
      const out = block * VALUES + (pair << 6)
      for (let i = 0; i < 32; i++) {
        const byte = from[packed + i]!
        numbers[out + i] = byte & 15
        numbers[out + 32 + i] = byte >>> 4
      }
    }
  }
}

export const q5_K: Unpack = (from, blocks, { numbers, scales, minimums }) => {
  const half = halfValues()
  for (let block = 0; block < blocks; block++) {
    const start = block * 176
    const scale = half[from[start]! | (from[start + 1]! << 8)]!
    const least = half[from[start + 2]! | (from[start + 3]! << 8)]!
    for (let group = 0; group < 8; group++) {
      const [ofGroup, leastOfGroup] = sixBits(from, start + 4, group)
      scales[block * 8 + group] = scale * ofGroup
      minimums[block * 8 + group] = -least * leastOfGroup
      const packed = start + 48 + ((group >>> 1) << 5)
      const shift = (group & 1) << 2
      const out = block * VALUES + (group << 5)
      for (let i = 0; i < 32; i++) {
        const fifth = (from[start + 16 + i]! >>> group) & 1
        numbers[out + i] = ((from[packed + i]! >>> shift) & 15) | (fifth << 4)
      }
    }
  }
}

export const q6_K: Unpack = (from, blocks, { numbers, scales }) => {
  const half = halfValues()
  for (let block = 0; block < blocks; block++) {
    const start = block * 210
    const scale = half[from[start + 208]! | (from[start + 209]! << 8)]!
    for (let group = 0; group < 16; group++)
      scales[block * 16 + group] = scale * ((from[start + 192 + group]! << 24) >> 24)
    for (let eighth = 0; eighth < 8; eighth++) {
      const [part, quarter] = [eighth >>> 2, eighth & 3]
      const low = start + (part << 6) + ((quarter & 1) << 5)
      const lowShift = (quarter >>> 1) << 2
      const high = start + 128 + (part << 5)
      const out = block * VALUES + (eighth << 5)
      for (let i = 0; i < 32; i++) {
        const four = (from[low + i]! >>> lowShift) & 15
        const two = (from[high + i]! >>> (quarter << 1)) & 3
        numbers[out + i] = (four | (two << 4)) - 32
      }
    }
  }
}
