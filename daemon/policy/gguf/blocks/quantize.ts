// Converts F32 to the types that can be written, rounding as llama.cpp's reference code does.

import { fromFloat32 } from '../../safetensors/dtypes.ts'

export const QUANTIZE = {
  F32: (values: Float32Array) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  F16: (values: Float32Array) => new Uint8Array(fromFloat32('F16', values).buffer),
  BF16: (values: Float32Array) => new Uint8Array(fromFloat32('BF16', values).buffer),
  Q8_0: q8_0,
} as const

export type WrittenType = keyof typeof QUANTIZE

/** The scale is the largest magnitude / 127. Numbers are computed with the scale before it is rounded to F16. */
function q8_0(values: Float32Array): Uint8Array<ArrayBuffer> {
  const blocks = values.length / 32
  const out = new Uint8Array(blocks * 34)
  const scales = new Float32Array(blocks)
  for (let block = 0; block < blocks; block++) {
    let most = 0
    for (let i = block * 32; i < block * 32 + 32; i++) most = Math.max(most, Math.abs(values[i]!))
    const scale = Math.fround(most / 127)
    const inverse = scale > 0 ? Math.fround(1 / scale) : 0
    scales[block] = scale
    for (let i = 0; i < 32; i++) {
      const number = Math.fround(values[block * 32 + i]! * inverse)
      // Round halves away from zero.
      out[block * 34 + 2 + i] = Math.sign(number) * Math.floor(Math.abs(number) + 0.5)
    }
  }
  const halves = fromFloat32('F16', scales)
  for (let block = 0; block < blocks; block++) {
    out[block * 34] = halves[block]! & 255
    out[block * 34 + 1] = halves[block]! >>> 8
  }
  return out
}
