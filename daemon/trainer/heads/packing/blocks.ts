// A vector in about eight bits a value: blocks of 64 values, each with its largest magnitude as a float and one signed
// byte a value. What rounding loses is given back, so that a sender can add it to the next vector (error feedback).

import type { Vector } from '../vector.ts'

export const BLOCK = 64
const STEPS = 127

/** Bytes of a packed vector. */
export function packedSize(values: number): number {
  return 4 * Math.ceil(values / BLOCK) + values
}

/** A packed vector: scales first, as little-endian floats, then the bytes. */
export interface Packed {
  scales: DataView
  bytes: Int8Array
}

export function partsOf(packed: Uint8Array, values: number): Packed {
  const blocks = Math.ceil(values / BLOCK)
  return {
    scales: new DataView(packed.buffer, packed.byteOffset, 4 * blocks),
    bytes: new Int8Array(packed.buffer, packed.byteOffset + 4 * blocks, values),
  }
}

export function pack(vector: Vector): Uint8Array<ArrayBuffer> {
  const packed = new Uint8Array(packedSize(vector.length))
  const into = partsOf(packed, vector.length)
  for (let at = 0; at < vector.length; at += BLOCK)
    packBlock(into, at, vector, at, Math.min(vector.length, at + BLOCK))
  return packed
}

// Functions of one block, because a loop over all would be compiled each time (../../../engine/parts.ts).

/** Packs values of a vector as the block that begins with this value. */
export function packBlock(
  { scales, bytes }: Packed,
  at: number,
  vector: Vector,
  from: number,
  to: number,
): void {
  let largest = 0
  for (let i = from; i < to; i++) {
    const size = Math.abs(vector[i]!)
    if (!(size <= largest)) largest = size
  }
  const factor = largest > 0 ? STEPS / largest : 0
  // Rounded to the nearest, as Math.round does, which takes three times as long.
  for (let i = from; i < to; i++) bytes[at + i - from] = ((vector[i]! * factor + 128.5) | 0) - 128
  scales.setFloat32((4 * at) / BLOCK, largest, true)
}

/** The step of a block: what a byte counts. Undefined if it is no finite one. */
export function stepOf({ scales }: Packed, at: number): number | undefined {
  const step = scales.getFloat32((4 * at) / BLOCK, true) / STEPS
  return step >= 0 && step < Number.POSITIVE_INFINITY ? step : undefined
}

/** False for a byte that `packBlock` does not make, and where a sum is not finite. */
function isAdded(vector: Vector, { bytes }: Packed, at: number, step: number, sign: number): boolean {
  const to = Math.min(vector.length, at + BLOCK)
  for (let i = at; i < to; i++) {
    if (bytes[i]! < -STEPS) return false
    vector[i]! += sign * Math.fround(step * bytes[i]!)
    if (!(Math.abs(vector[i]!) < Number.POSITIVE_INFINITY)) return false
  }
  return true
}

/** All values are finite. Undefined if the bytes are not a packed vector of so many values, as `pack` makes it. */
export function unpack(packed: Uint8Array, values: number): Vector | undefined {
  return added(new Float32Array(values), packed)
}

/**
 * What a head's bytes stand for: a packed difference from the origin. Undefined if they are none, or not finite. `into`: is
 * filled with it.
 */
export function unpackBeside(
  origin: Vector,
  packed: Uint8Array,
  into: Vector = new Float32Array(origin.length),
): Vector | undefined {
  into.set(origin)
  return added(into, packed)
}

/** Packs the vector, which then has what rounding loses. Throws for values that are not finite. */
export function packOff(vector: Vector): Uint8Array<ArrayBuffer> {
  const packed = pack(vector)
  if (!added(vector, packed, -1)) throw new RangeError('weights that are not finite')
  return packed
}

/** The vector itself, with the packed one added, or taken away by a sign of -1. */
function added(vector: Vector, packed: Uint8Array, sign = 1): Vector | undefined {
  if (packed.length !== packedSize(vector.length)) return undefined
  const parts = partsOf(packed, vector.length)
  for (let at = 0; at < vector.length; at += BLOCK) {
    const step = stepOf(parts, at)
    if (step === undefined || !isAdded(vector, parts, at, step, sign)) return undefined
  }
  return vector
}
