// How frozen matrices are kept in memory: as blocks of 4- or 8-bit numbers, or as F16 values ("halves"). An engine
// multiplies by such a matrix without ever holding more than one tile of it in F32.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Weights } from '../weights.ts'
import { halfValues } from './halves.ts'

/** value = scale * (number - middle) + minimum, where middle is 8 with 4 bits and 128 with 8 bits. */
export interface Blocks {
  kind: 'blocks'
  bits: 4 | 8
  /** Neighbouring columns that share a scale: 16 or 32. Divides the number of columns. */
  block: 16 | 32
  /** Row by row, block by block, block * bits / 8 bytes each. With 4 bits, a byte's low half is the first number. */
  numbers: Uint8Array
  /** One per block. */
  scales: Float32Array
  /** One per block; all 0 if left out. */
  minimums?: Float32Array
}

export interface Halves {
  kind: 'halves'
  /** The bit patterns of the F16 values. */
  halves: Uint16Array
}

export type Stored = Blocks | Halves
/** A model's weights. Matrices may be quantized or F16. */
export type BaseWeights = Readonly<Record<string, Float32Array | Stored>>

/** How a matrix is stored, without its content. */
export type Form = Pick<Halves, 'kind'> | (Pick<Blocks, 'kind' | 'bits' | 'block'> & { hasMinimums: boolean })
/** By matrix name. Matrices that are missing here are F32. */
export type Forms = Readonly<Record<string, Form>>

export const MIDDLE = { 4: 8, 8: 128 } as const

export function isStored(values: Float32Array | Stored): values is Stored {
  return !(values instanceof Float32Array)
}

/** Number of values. */
export function lengthOf(values: Float32Array | Stored): number {
  if (!isStored(values)) return values.length
  return values.kind === 'halves' ? values.halves.length : values.scales.length * values.block
}

export function bytesOf(values: Float32Array | Stored): number {
  return arraysOf(values).reduce((sum, { byteLength }) => sum + byteLength, 0)
}

export function arraysOf(values: Float32Array | Stored): (Float32Array | Uint16Array | Uint8Array)[] {
  if (!isStored(values)) return [values]
  if (values.kind === 'halves') return [values.halves]
  const { numbers, scales, minimums } = values
  return minimums ? [numbers, scales, minimums] : [numbers, scales]
}

export function formOf(stored: Stored): Form {
  if (stored.kind === 'halves') return { kind: 'halves' }
  const { kind, bits, block, minimums } = stored
  return { kind, bits, block, hasMinimums: minimums !== undefined }
}

export function formsOf(weights: BaseWeights): Forms {
  return Object.fromEntries(
    Object.entries(weights).flatMap(([name, values]) => (isStored(values) ? [[name, formOf(values)]] : [])),
  )
}

/** The values as F32. Returns the array itself if it is already F32. */
export function asFloats(values: Float32Array | Stored): Float32Array {
  if (!isStored(values)) return values
  const out = new Float32Array(lengthOf(values))
  if (values.kind === 'halves') {
    const table = halfValues()
    for (let i = 0; i < out.length; i++) out[i] = table[values.halves[i]!]!
    return out
  }
  const { bits, block, numbers, scales, minimums } = values
  for (let b = 0; b < scales.length; b++) {
    const [start, scale, minimum] = [b * block, scales[b]!, minimums?.[b] ?? 0]
    for (let i = start; i < start + block; i++) {
      const number = bits === 8 ? numbers[i]! - 128 : ((numbers[i >>> 1]! >>> ((i & 1) << 2)) & 15) - 8
      out[i] = scale * number + minimum
    }
  }
  return out
}

/** Throws E_MODEL if a tensor is stored in fewer bits, since training changes all of them. */
export function trainable(weights: BaseWeights): Weights {
  for (const [name, values] of Object.entries(weights))
    if (isStored(values))
      throw new WaggleError('E_MODEL', `"${name}" is quantized, so it cannot be trained`, {
        hint: 'Train an adapter (training.method = "lora"), or set engine.base_precision to "f32".',
      })
  return weights as Weights
}
