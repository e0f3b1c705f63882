// A quantized tensor's blocks taken apart into what engines store: numbers, and a scale and a minimum for each group of
// them. Each value is scale * (number - middle) + minimum. All steps but the last are exact in F32, so a value is rounded
// once, and results are those of ggml's reference code, bit for bit.

import { type Blocks, MIDDLE } from '../../engine/stored/stored.ts'

export interface Unpacked {
  /** Numbers of 4 bits are two to a byte, the first one low. */
  numbers: Uint8Array
  /** One for each group. */
  scales: Float32Array
  /** One for each group; left alone by types that have none. */
  minimums: Float32Array
}

/** Takes apart `blocks` blocks, one after the other in `from`. */
export type Unpack = (from: Uint8Array, blocks: number, to: Unpacked) => void

/** What a type's numbers need. */
export interface Packing {
  /** Values that share a scale. */
  group: 16 | 32
  /** Of a number in an engine. */
  bits: 4 | 8
  hasMinimums: boolean
}

export function unpackedRoom(values: number, { group, bits }: Packing): Unpacked {
  const groups = values / group
  return {
    numbers: new Uint8Array((values * bits) / 8),
    scales: new Float32Array(groups),
    minimums: new Float32Array(groups),
  }
}

/** The bytes as pairs, the first one low. */
export function pairsOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint16Array {
  return new Uint16Array(buffer, byteOffset, byteLength / 2)
}

/** Two numbers of 4 bits, which are the low bits of a pair's bytes, as one byte. */
export function inByte(pair: number): number {
  return (pair & 15) | ((pair >>> 4) & 0xf0)
}

/** Numbers of 4 bits with minimums are from 0 to 15; of the others, the middle stands for 0. */
const isFromZero = ({ bits, hasMinimums }: Packing): boolean => bits === 4 && hasMinimums

/** The first `count` values, into `to` from `at` on. */
export function toFloats(
  { numbers, scales, minimums }: Unpacked,
  count: number,
  packing: Packing,
  to: Float32Array,
  at: number,
): void {
  const { group, bits, hasMinimums } = packing
  const middle = isFromZero(packing) ? 0 : MIDDLE[bits]
  for (let start = 0, g = 0; start < count; start += group, g++) {
    const scale = scales[g]!
    // Without minimums nothing is added: adding 0 would turn -0 into 0.
    const minimum = minimums[g]!
    for (let i = start; i < start + group; i++) {
      const number = bits === 8 ? numbers[i]! : (numbers[i >>> 1]! >>> ((i & 1) << 2)) & 15
      const value = scale * (number - middle)
      to[at + i] = hasMinimums ? value + minimum : value
    }
  }
}

/** Room for a tensor of so many values, in shared memory. */
export function blocksRoom(values: number, { group, bits, hasMinimums }: Packing): Blocks {
  const floats = () => new Float32Array(new SharedArrayBuffer((values / group) * 4))
  return {
    kind: 'blocks',
    bits,
    block: group,
    numbers: new Uint8Array(new SharedArrayBuffer((values * bits) / 8)),
    scales: floats(),
    ...(hasMinimums ? { minimums: floats() } : {}),
  }
}

/** The part of a tensor's blocks that begins with the `at`-th value, for `Unpack` to write to. */
export function partOf({ numbers, scales, minimums, bits, block }: Blocks, at: number): Unpacked {
  const group = at / block
  return {
    numbers: numbers.subarray((at * bits) / 8),
    scales: scales.subarray(group),
    minimums: minimums?.subarray(group) ?? new Float32Array(0),
  }
}

/** Makes the minimums up for the middle that engines subtract from all numbers, those from 0 to 15 included. */
export function shiftMinimums({ scales, minimums }: Blocks, packing: Packing): void {
  if (!minimums || !isFromZero(packing)) return
  for (let g = 0; g < minimums.length; g++) minimums[g]! += MIDDLE[4] * scales[g]!
}
