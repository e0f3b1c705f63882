// The blocks of a quantized tensor, unpacked into what engines store: numbers, and a scale and a minimum for each group
// of them. Each value is scale * (number - middle) + minimum. All steps but the last are exact in F32, so a value is
// rounded only once, and the results equal those of ggml's reference code bit for bit.

import { type Blocks, MIDDLE } from '../../../engine/stored/stored.ts'

interface Unpacked {
  /** 4-bit numbers are two to a byte, the first one in the low bits. */
  numbers: Uint8Array
  /** One per group. */
  scales: Float32Array
  /** One per group. Types without minimums do not write to it. */
  minimums: Float32Array
}

/** Unpacks `blocks` consecutive blocks of `from`. */
export type Unpack = (from: Uint8Array, blocks: number, to: Unpacked) => void

/** How a type's numbers are stored in an engine. */
export interface Packing {
  /** Values that share a scale. */
  group: 16 | 32
  /** Bits of a number in an engine. */
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

/** The bytes as 16-bit pairs, the first byte in the low bits. */
export function pairsOf({ buffer, byteOffset, byteLength }: Uint8Array): Uint16Array {
  return new Uint16Array(buffer, byteOffset, byteLength / 2)
}

/** Packs the low 4 bits of a pair's two bytes into one byte. */
export function inByte(pair: number): number {
  return (pair & 15) | ((pair >>> 4) & 0xf0)
}

/** 4-bit numbers with minimums range from 0 to 15. In all other cases, the middle stands for 0. */
const isFromZero = ({ bits, hasMinimums }: Packing): boolean => bits === 4 && hasMinimums

/** Writes the first `count` values to `to`, starting at index `at`. */
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
    // Without minimums nothing is added, because adding 0 would turn -0 into 0.
    const minimum = minimums[g]!
    for (let i = start; i < start + group; i++) {
      const number = bits === 8 ? numbers[i]! : (numbers[i >>> 1]! >>> ((i & 1) << 2)) & 15
      const value = scale * (number - middle)
      to[at + i] = hasMinimums ? value + minimum : value
    }
  }
}

/** Allocates blocks for a tensor with this many values, in shared memory. */
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

/** The part of a tensor's blocks from the `at`-th value on, for `Unpack` to write to. */
export function partOf({ numbers, scales, minimums, bits, block }: Blocks, at: number): Unpacked {
  const group = at / block
  return {
    numbers: numbers.subarray((at * bits) / 8),
    scales: scales.subarray(group),
    minimums: minimums?.subarray(group) ?? new Float32Array(0),
  }
}

/** Raises the minimums to make up for the middle, which engines subtract even from numbers that start at 0. */
export function shiftMinimums({ scales, minimums }: Blocks, packing: Packing): void {
  if (!minimums || !isFromZero(packing)) return
  for (let g = 0; g < minimums.length; g++) minimums[g]! += MIDDLE[4] * scales[g]!
}
