// The tensor types of GGUF that can be read: the values and bytes of a block, and how to unpack it. Layouts are those
// of ggml.

import { q4_0, q4_1, q5_0, q5_1, q8_0 } from './blocks/blocks.ts'
import { q2_K, q3_K, q4_K, q5_K, q6_K } from './blocks/super-blocks.ts'
import type { Packing, Unpack } from './blocks/unpacked.ts'

export interface TensorType {
  /** ggml's number for the type in a file. */
  code: number
  /** Values per block. */
  values: number
  /** Bytes per block. */
  bytes: number
  /** Set for a quantized type. */
  quantized?: Packing & { unpack: Unpack }
}

const packed = (unpack: Unpack, group: 16 | 32, bits: 4 | 8, { hasMinimums = false } = {}) => ({
  quantized: { unpack, group, bits, hasMinimums },
})
const hasMinimums = true

export const TENSOR_TYPES = {
  F32: { code: 0, values: 1, bytes: 4 },
  F16: { code: 1, values: 1, bytes: 2 },
  BF16: { code: 30, values: 1, bytes: 2 },
  Q4_0: { code: 2, values: 32, bytes: 18, ...packed(q4_0, 32, 4) },
  Q4_1: { code: 3, values: 32, bytes: 20, ...packed(q4_1, 32, 4, { hasMinimums }) },
  Q5_0: { code: 6, values: 32, bytes: 22, ...packed(q5_0, 32, 8) },
  Q5_1: { code: 7, values: 32, bytes: 24, ...packed(q5_1, 32, 8, { hasMinimums }) },
  Q8_0: { code: 8, values: 32, bytes: 34, ...packed(q8_0, 32, 8) },
  Q2_K: { code: 10, values: 256, bytes: 84, ...packed(q2_K, 16, 4, { hasMinimums }) },
  Q3_K: { code: 11, values: 256, bytes: 110, ...packed(q3_K, 16, 4) },
  Q4_K: { code: 12, values: 256, bytes: 144, ...packed(q4_K, 32, 4, { hasMinimums }) },
  Q5_K: { code: 13, values: 256, bytes: 176, ...packed(q5_K, 32, 8, { hasMinimums }) },
  Q6_K: { code: 14, values: 256, bytes: 210, ...packed(q6_K, 16, 8) },
} as const satisfies Record<string, TensorType>

export type TensorTypeName = keyof typeof TENSOR_TYPES

const BY_CODE = new Map(
  Object.entries(TENSOR_TYPES).map(([name, { code }]) => [code as number, name as TensorTypeName]),
)

/** Undefined for a type that cannot be read. */
export function typeOfCode(code: number): TensorTypeName | undefined {
  return BY_CODE.get(code)
}

/** Names of the types that cannot be read, for messages. */
const OTHERS: Record<number, string> = {
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
}

export function codeName(code: number): string {
  return OTHERS[code] ?? `number ${code}`
}
