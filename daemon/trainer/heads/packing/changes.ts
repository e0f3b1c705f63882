// From one head to the next in about two bits a value. Of each block of 128, the values go up or down, near or far; near and
// far are how much such values lack on average. What this misses is in the next change, because that starts from what peers
// have. So a head that follows from the one before by a change is known exactly to whoever has that one: both pack what comes
// out, and the hash is the head's.

import type { Vector } from '../vector.ts'
import { BLOCK as PACKED, type Packed, packBlock, packedSize, partsOf, stepOf } from './blocks.ts'

/** Two blocks of a head. */
const BLOCK = 2 * PACKED

/**
 * A value is far if it lacks more than so many times the mean of its block. Four steps come nearest to a normal distribution
 * if they change at 0.98 of its deviation (Max 1960).
 */
const FAR = 1.23

/** Bytes of a change: the upper halves of each block's two distances as floats, then the codes. */
export function changeSize(values: number): number {
  return 4 * Math.ceil(values / BLOCK) + Math.ceil(values / 4)
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
  /** By block: near, and far. */
  distances: DataView
  /** Four a byte, the lowest bits first: 1 is up, 2 is far. */
  codes: Uint8Array
}

function changeIn(change: Uint8Array, values: number): Change {
  const length = 4 * Math.ceil(values / BLOCK)
  return {
    distances: new DataView(change.buffer, change.byteOffset, length),
    codes: change.subarray(length),
  }
}

// Functions of one block, because a loop over all would be compiled each time (../../../engine/parts.ts).

/** Writes the block that begins with this value. Gives the sum of the squares of what it lacks. */
function writeBlock(
  { distances, codes }: Change,
  at: number,
  { wanted, from, lacks }: { wanted: Vector; from: Packed; lacks: Vector },
): number {
  const to = Math.min(wanted.length, at + BLOCK)
  for (let start = at; start < to; start += PACKED)
    lacksOf(lacks, wanted, from, { at, start, to: Math.min(to, start + PACKED) })
  let [sum, squares] = [0, 0]
  for (let i = 0; i < to - at; i++) {
    sum += Math.abs(lacks[i]!)
    squares += lacks[i]! * lacks[i]!
  }
  const between = (FAR * sum) / (to - at)
  let [farSum, count] = [0, 0]
  for (let i = at; i < to; i++) {
    const lack = lacks[i - at]!
    const isFar = Number(Math.abs(lack) > between)
    farSum += isFar * Math.abs(lack)
    count += isFar
    codes[i >> 2]! |= (Number(lack > 0) + 2 * isFar) << (2 * (i & 3))
  }
  distances.setUint16((4 * at) / BLOCK, upperHalf((sum - farSum) / (to - at - count)), true)
  distances.setUint16((4 * at) / BLOCK + 2, count > 0 ? upperHalf(farSum / count) : 0, true)
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
function isFollowed(
  room: Vector,
  from: Packed,
  { distances, codes }: Change,
  at: number,
  to: number,
): boolean {
  const step = stepOf(from, at)
  const block = 4 * Math.floor(at / BLOCK)
  const near = fromUpperHalf(distances.getUint16(block, true))
  const far = fromUpperHalf(distances.getUint16(block + 2, true))
  if (step === undefined || !isDistance(near) || !isDistance(far)) return false
  const { bytes } = from
  for (let i = at; i < to; i++) {
    if (bytes[i]! === -128) return false
    // No branch: half of them would be foreseen wrongly.
    const code = codes[i >> 2]! >> (2 * (i & 3))
    room[i - at] =
      Math.fround(step * bytes[i]!) + (2 * (code & 1) - 1) * (near + ((code >> 1) & 1) * (far - near))
  }
  return true
}

const isDistance = (value: number): boolean => value >= 0 && value < Number.POSITIVE_INFINITY

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
