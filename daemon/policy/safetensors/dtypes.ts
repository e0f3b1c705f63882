// The number formats of safetensors, and the conversions to and from F32 that training needs. Knows nothing about
// files. Works on little-endian machines only, like ONNX Runtime's builds for Node.

import { halfValues, roundToHalf } from '../../engine/stored/halves.ts'

export type TensorData =
  | Float64Array
  | Float32Array
  | BigInt64Array
  | BigUint64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array

interface DtypeFacts {
  /** Bytes per value. */
  size: number
  /** Makes an array for values as they are stored; F16 and BF16 are raw bits. */
  make(length: number): TensorData
}

/** The formats of safetensors 0.6 with at least one byte per value. Packed 4- and 6-bit formats are not supported. */
export const DTYPES = {
  F64: { size: 8, make: (length) => new Float64Array(length) },
  I64: { size: 8, make: (length) => new BigInt64Array(length) },
  U64: { size: 8, make: (length) => new BigUint64Array(length) },
  F32: { size: 4, make: (length) => new Float32Array(length) },
  I32: { size: 4, make: (length) => new Int32Array(length) },
  U32: { size: 4, make: (length) => new Uint32Array(length) },
  F16: { size: 2, make: (length) => new Uint16Array(length) },
  BF16: { size: 2, make: (length) => new Uint16Array(length) },
  I16: { size: 2, make: (length) => new Int16Array(length) },
  U16: { size: 2, make: (length) => new Uint16Array(length) },
  I8: { size: 1, make: (length) => new Int8Array(length) },
  U8: { size: 1, make: (length) => new Uint8Array(length) },
  BOOL: { size: 1, make: (length) => new Uint8Array(length) },
  F8_E4M3: { size: 1, make: (length) => new Uint8Array(length) },
  F8_E5M2: { size: 1, make: (length) => new Uint8Array(length) },
} as const satisfies Record<string, DtypeFacts>

export type Dtype = keyof typeof DTYPES

export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DTYPES, name)
}

/** Formats that can be read as F32. */
type FloatDtype = 'F64' | 'F32' | 'F16' | 'BF16'

export function isFloat(dtype: Dtype): dtype is FloatDtype {
  return dtype === 'F32' || dtype === 'BF16' || dtype === 'F16' || dtype === 'F64'
}

/** Converts `from`, raw values of `dtype`, and writes them to `to` at `at`. F16 and BF16 are exact; F64 is rounded. */
export function toFloat32(dtype: FloatDtype, from: TensorData, to: Float32Array, at: number): void {
  if (dtype === 'F32' || dtype === 'F64') {
    to.set(from as Float32Array | Float64Array, at)
    return
  }
  const bits = new Uint32Array(to.buffer, to.byteOffset + at * 4, from.length)
  const raw = from as Uint16Array
  if (dtype === 'BF16') {
    for (let i = 0; i < raw.length; i++) bits[i] = raw[i]! << 16
  } else {
    const table = halfBits()
    for (let i = 0; i < raw.length; i++) bits[i] = table[raw[i]!]!
  }
}

/** Rounds to the nearest value of a 16-bit format, ties to even, as in PyTorch. Values too large become infinite. */
export function fromFloat32(dtype: 'F16' | 'BF16', from: Float32Array): Uint16Array {
  const bits = new Uint32Array(from.buffer, from.byteOffset, from.length)
  const to = new Uint16Array(from.length)
  const round = dtype === 'BF16' ? roundToBrain : roundToHalf
  for (let i = 0; i < bits.length; i++) to[i] = round(bits[i]!)
  return to
}

/** True if no value is infinite or NaN. */
export function allFinite(values: Float32Array | Float64Array): boolean {
  // 0 times a finite value is 0; 0 times infinity or NaN is NaN, and then the sum stays NaN.
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i]! * 0
  return sum === 0
}

function roundToBrain(bits: number): number {
  const infinity = 0x7f800000
  if ((bits & 0x7fffffff) > infinity) return (bits >>> 16) | 0x40
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16
}

/** Copied as bits, so that a NaN keeps its payload. */
const halfBits = (): Uint32Array => new Uint32Array(halfValues().buffer)
