// A vector in about eight bits a value: blocks of 64 values, each with its largest magnitude as a float and one signed
// byte a value. What rounding loses is given back, so that a sender can add it to the next vector (error feedback).

import type { Vector } from './vector.ts'

const BLOCK = 64
const STEPS = 127

/** Bytes of a packed vector. */
export function packedSize(values: number): number {
  return 4 * Math.ceil(values / BLOCK) + values
}

/** Scales first, as little-endian floats, then the bytes. */
export function pack(vector: Vector): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil(vector.length / BLOCK)
  const packed = new Uint8Array(packedSize(vector.length))
  const scales = new DataView(packed.buffer, 0, 4 * blocks)
  const bytes = new Int8Array(packed.buffer, 4 * blocks)
  for (let block = 0; block < blocks; block++)
    scales.setFloat32(4 * block, packBlock(vector, bytes, block), true)
  return packed
}

// Functions of one block, because a loop over all would be compiled each time (../../engine/parts.ts).

/** Returns the block's scale. */
function packBlock(vector: Vector, bytes: Int8Array, block: number): number {
  const from = block * BLOCK
  const to = Math.min(vector.length, from + BLOCK)
  let largest = 0
  for (let i = from; i < to; i++) {
    const size = Math.abs(vector[i]!)
    if (!(size <= largest)) largest = size
  }
  const factor = largest > 0 ? STEPS / largest : 0
  // Rounded to the nearest, as Math.round does, with which packing takes three times as long. No number becomes -128.
  for (let i = from; i < to; i++) bytes[i] = ((vector[i]! * factor + 128.5) | 0) - 128
  return largest
}

/** False for a byte that `packBlock` does not make, and where a sum is not finite. */
function isAdded(vector: Vector, bytes: Int8Array, block: number, scale: number, sign: number): boolean {
  const from = block * BLOCK
  const to = Math.min(vector.length, from + BLOCK)
  for (let i = from; i < to; i++) {
    if (bytes[i]! < -STEPS) return false
    vector[i]! += sign * Math.fround(scale * bytes[i]!)
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
  const blocks = Math.ceil(vector.length / BLOCK)
  const scales = new DataView(packed.buffer, packed.byteOffset, 4 * blocks)
  const bytes = new Int8Array(packed.buffer, packed.byteOffset + 4 * blocks, vector.length)
  for (let block = 0; block < blocks; block++) {
    const scale = scales.getFloat32(4 * block, true) / STEPS
    if (!(scale >= 0 && scale < Number.POSITIVE_INFINITY)) return undefined
    if (!isAdded(vector, bytes, block, scale, sign)) return undefined
  }
  return vector
}
