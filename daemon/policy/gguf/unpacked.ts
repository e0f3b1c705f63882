// A quantized tensor's blocks taken apart, and what is made of them: F32 values, or blocks as engines store them. Each
// value is scale * number + minimum, where the scale and the minimum are those of its group. Both are exact in F32, so
// a value is rounded once, and results are those of ggml's reference code, bit for bit.

import { type Blocks, MIDDLE } from '../../engine/stored/stored.ts'

export interface Unpacked {
  numbers: Int8Array
  /** One for each group. */
  scales: Float32Array
  /** One for each group; 0 for types that have none. */
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

export function unpackedRoom(values: number, { group }: Packing): Unpacked {
  const groups = values / group
  return {
    numbers: new Int8Array(values),
    scales: new Float32Array(groups),
    minimums: new Float32Array(groups),
  }
}

/** The first `count` values, into `to` from `at` on. */
export function toFloats(
  { numbers, scales, minimums }: Unpacked,
  count: number,
  { group, hasMinimums }: Packing,
  to: Float32Array,
  at: number,
): void {
  for (let start = 0, g = 0; start < count; start += group, g++) {
    const scale = scales[g]!
    // Adding 0 would turn -0 into 0.
    if (!hasMinimums) for (let i = start; i < start + group; i++) to[at + i] = scale * numbers[i]!
    else {
      const minimum = minimums[g]!
      for (let i = start; i < start + group; i++) to[at + i] = scale * numbers[i]! + minimum
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

/** The first `count` values, into the blocks from the `at`-th value on. */
export function toBlocks(
  { numbers, scales, minimums }: Unpacked,
  count: number,
  { group, bits, hasMinimums }: Packing,
  to: Blocks,
  at: number,
): void {
  const firstGroup = at / group
  const groups = count / group
  to.scales.set(scales.subarray(0, groups), firstGroup)
  // Numbers from 0 to 15 stay as they are; the minimum makes up for the middle that engines subtract.
  const isShifted = bits === 4 && hasMinimums
  const middle = isShifted ? 0 : MIDDLE[bits]
  if (to.minimums)
    for (let g = 0; g < groups; g++)
      to.minimums[firstGroup + g] = minimums[g]! + (isShifted ? MIDDLE[4] * scales[g]! : 0)
  const out = to.numbers
  if (bits === 8) for (let i = 0; i < count; i++) out[at + i] = numbers[i]! + middle
  else {
    for (let i = 0, byte = at >>> 1; i < count; i += 2, byte++)
      out[byte] = (numbers[i]! + middle) | ((numbers[i + 1]! + middle) << 4)
  }
}
