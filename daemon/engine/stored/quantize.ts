// Rounds F32 matrices to fewer bits. Symmetric, as GGUF's Q4_0 and Q8_0 are: the value of largest size in a block
// becomes the number -8 or, for 8 bits, 127 or -127.

import { roundToHalf } from './halves.ts'
import type { Blocks, Halves } from './stored.ts'

const BLOCK = 32

/** The number of values must be a multiple of 32. */
export function quantize(values: Float32Array, bits: 4 | 8): Blocks {
  const count = values.length / BLOCK
  const numbers = new Uint8Array(new SharedArrayBuffer((values.length * bits) / 8))
  const scales = new Float32Array(new SharedArrayBuffer(count * 4))
  for (let b = 0; b < count; b++) {
    const start = b * BLOCK
    let [most, size] = [0, 0]
    for (let i = start; i < start + BLOCK; i++) {
      const value = values[i]!
      if (Math.abs(value) > size) [most, size] = [value, Math.abs(value)]
    }
    const scale = Math.fround(bits === 4 ? most / -8 : size / 127)
    const inverse = scale === 0 ? 0 : 1 / scale
    scales[b] = scale
    if (bits === 8) {
      for (let i = start; i < start + BLOCK; i++)
        numbers[i] = clamp(Math.round(values[i]! * inverse), 127) + 128
    } else {
      for (let i = start; i < start + BLOCK; i += 2) {
        const [first, second] = [
          clamp(Math.round(values[i]! * inverse), 7),
          clamp(Math.round(values[i + 1]! * inverse), 7),
        ]
        numbers[i >>> 1] = (first + 8) | ((second + 8) << 4)
      }
    }
  }
  return { kind: 'blocks', bits, block: BLOCK, numbers, scales }
}

function clamp(number: number, most: number): number {
  return Math.max(-most - 1, Math.min(most, number))
}

export function toHalves(values: Float32Array): Halves {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(new SharedArrayBuffer(values.length * 2))
  for (let i = 0; i < bits.length; i++) halves[i] = roundToHalf(bits[i]!)
  return { kind: 'halves', halves }
}
