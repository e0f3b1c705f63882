// Quantizes F32 matrices to 4 or 8 bits, symmetrically, as GGUF's Q4_0 and Q8_0 do: the value of largest magnitude in a
// block becomes -8 with 4 bits, and 127 or -127 with 8 bits.

import { roundToHalf } from './halves.ts'
import { type Blocks, type Halves, MIDDLE } from './stored.ts'

const BLOCK = 32

/** Quantizes to `bits`. The number of values must be a multiple of 32. */
export function quantize(values: Float32Array, bits: 4 | 8): Blocks {
  const blocks = emptyBlocks(values.length, bits)
  quantizeInto(values, blocks, 0)
  return blocks
}

/** Allocates blocks for this many values, in shared memory, so that all engines can use the same copy. */
export function emptyBlocks(values: number, bits: 4 | 8): Blocks {
  const numbers = new Uint8Array(new SharedArrayBuffer((values * bits) / 8))
  const scales = new Float32Array(new SharedArrayBuffer((values / BLOCK) * 4))
  return { kind: 'blocks', bits, block: BLOCK, numbers, scales }
}

export function emptyHalves(values: number): Halves {
  return { kind: 'halves', halves: new Uint16Array(new SharedArrayBuffer(values * 2)) }
}

/** Quantizes whole blocks and writes them to `to`, starting at its value `at`. */
export function quantizeInto(values: Float32Array, { bits, numbers, scales }: Blocks, at: number): void {
  const middle = MIDDLE[bits]
  for (let start = 0, block = at / BLOCK; start < values.length; start += BLOCK, block++) {
    let [most, size] = [0, 0]
    for (let i = start; i < start + BLOCK; i++) {
      const value = values[i]!
      if (Math.abs(value) > size) [most, size] = [value, Math.abs(value)]
    }
    const scale = Math.fround(bits === 4 ? most / -8 : size / 127)
    const inverse = scale === 0 ? 0 : 1 / scale
    scales[block] = scale
    const number = (value: number): number =>
      Math.max(0, Math.min(2 * middle - 1, Math.round(value * inverse) + middle))
    if (bits === 8) for (let i = 0; i < BLOCK; i++) numbers[at + start + i] = number(values[start + i]!)
    else {
      for (let i = 0; i < BLOCK; i += 2)
        numbers[(at + start + i) >>> 1] = number(values[start + i]!) | (number(values[start + i + 1]!) << 4)
    }
  }
}

export function toHalvesInto(values: Float32Array, { halves }: Halves, at: number): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let i = 0; i < bits.length; i++) halves[at + i] = roundToHalf(bits[i]!)
}
