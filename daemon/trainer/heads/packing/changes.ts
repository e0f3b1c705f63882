// From one head to the next in about a bit a value. Blocks of 128 values, each with the mean of what its values lack, and a
// sign a value: each goes up or down by that mean. What this misses is in the next change, because that starts from what
// peers have. So a head that follows from the one before by a change is known exactly to whoever has that one: both pack what
// comes out, and the hash is the head's.

import type { Vector } from '../vector.ts'
import { BLOCK as PACKED, type Packed, packBlock, packedSize, partsOf, stepOf } from './blocks.ts'

/** Two blocks of a head. */
const BLOCK = 2 * PACKED

/** Bytes of a change: the upper half of each block's mean as a float, then the signs. */
export function changeSize(values: number): number {
  return 2 * Math.ceil(values / BLOCK) + Math.ceil(values / 8)
}

/**
 * The change that brings a head nearest to a difference from the origin, and the head that it leads to. `apart`: how far it
 * was from that before. The head must be sound.
 */
export function changeTo(
  wanted: Vector,
  head: Uint8Array,
): { change: Uint8Array<ArrayBuffer>; head: Uint8Array<ArrayBuffer>; apart: number } {
  const change = new Uint8Array(changeSize(wanted.length))
  const parts = changeIn(change, wanted.length)
  const from = partsOf(head, wanted.length)
  const lacks = new Float32Array(BLOCK)
  let squares = 0
  for (let at = 0; at < wanted.length; at += BLOCK) squares += writeBlock(parts, at, { wanted, from, lacks })
  return { change, head: follow(head, change, wanted.length)!, apart: Math.sqrt(squares) }
}

/** The head to which these changes lead from another, one after another. Undefined if anything is malformed. */
export function follow(
  head: Uint8Array,
  changes: Uint8Array,
  values: number,
): Uint8Array<ArrayBuffer> | undefined {
  const size = changeSize(values)
  if (head.length !== packedSize(values) || changes.length === 0 || changes.length % size !== 0)
    return undefined
  let next: Uint8Array<ArrayBuffer> | undefined
  for (let at = 0; at < changes.length; at += size) {
    next = followOne(next ?? head, changes.subarray(at, at + size), values)
    if (!next) return undefined
  }
  return next
}

function followOne(
  head: Uint8Array,
  change: Uint8Array,
  values: number,
): Uint8Array<ArrayBuffer> | undefined {
  const next = new Uint8Array(head.length)
  const [from, into, by] = [partsOf(head, values), partsOf(next, values), changeIn(change, values)]
  const room = new Float32Array(PACKED)
  for (let at = 0; at < values; at += PACKED) {
    const to = Math.min(values, at + PACKED)
    if (!isFollowed(room, from, by, at, to)) return undefined
    packBlock(into, at, room, 0, to - at)
  }
  return next
}

interface Change {
  means: DataView
  signs: Uint8Array
}

function changeIn(change: Uint8Array, values: number): Change {
  const meansLength = 2 * Math.ceil(values / BLOCK)
  return {
    means: new DataView(change.buffer, change.byteOffset, meansLength),
    signs: change.subarray(meansLength),
  }
}

// Functions of one block, because a loop over all would be compiled each time (../../../engine/parts.ts).

/** Writes the block that begins with this value. Gives the sum of the squares of what it lacks. */
function writeBlock(
  { means, signs }: Change,
  at: number,
  { wanted, from, lacks }: { wanted: Vector; from: Packed; lacks: Vector },
): number {
  const to = Math.min(wanted.length, at + BLOCK)
  for (let start = at; start < to; start += PACKED)
    lacksOf(lacks, wanted, from, { at, start, to: Math.min(to, start + PACKED) })
  let [sum, squares] = [0, 0]
  for (let i = at; i < to; i++) {
    const lack = lacks[i - at]!
    sum += Math.abs(lack)
    squares += lack * lack
    signs[i >> 3]! |= Number(lack > 0) << (i & 7)
  }
  means.setUint16((2 * at) / BLOCK, upperHalf(sum / (to - at)), true)
  return squares
}

function lacksOf(
  lacks: Vector,
  wanted: Vector,
  from: Packed,
  { at, start, to }: { at: number; start: number; to: number },
): void {
  const step = stepOf(from, start)!
  for (let i = start; i < to; i++) lacks[i - at] = wanted[i]! - Math.fround(step * from.bytes[i]!)
}

/** Fills the room with the values to which a block's change leads. False if anything is malformed. */
function isFollowed(room: Vector, from: Packed, { means, signs }: Change, at: number, to: number): boolean {
  const step = stepOf(from, at)
  const mean = fromUpperHalf(means.getUint16(2 * Math.floor(at / BLOCK), true))
  if (step === undefined || !(mean >= 0 && mean < Number.POSITIVE_INFINITY)) return false
  const { bytes } = from
  for (let i = at; i < to; i++) {
    if (bytes[i]! === -128) return false
    const isUp = (signs[i >> 3]! >> (i & 7)) & 1
    // No branch: half of them would be foreseen wrongly.
    room[i - at] = Math.fround(step * bytes[i]!) + (2 * isUp - 1) * mean
  }
  return true
}

const float = new DataView(new ArrayBuffer(4))

/** The sign, the exponent and seven bits: what is a little smaller, never larger. */
function upperHalf(value: number): number {
  float.setFloat32(0, value)
  return float.getUint16(0)
}

function fromUpperHalf(bits: number): number {
  float.setUint32(0, bits * 65_536)
  return float.getFloat32(0)
}
