// From one head to the next in about a bit a value. Blocks of 128 values, each with the mean of what its values lack, and a
// sign a value: each goes up or down by that mean. What this misses is in the next change, because that starts from what
// peers have. So a head that follows from the one before by a change is known exactly to whoever has that one: both pack what
// comes out, and the hash is the head's.

import { inParts } from '../../../engine/parts.ts'
import { distance, type Vector } from '../vector.ts'
import { pack, unpack } from './blocks.ts'

/** A power of two, at least eight. */
const BLOCK = 128

/** Bytes of a change: the upper half of each block's mean as a float, then the signs. */
export function changeSize(values: number): number {
  return 2 * Math.ceil(values / BLOCK) + Math.ceil(values / 8)
}

/**
 * The change that brings a head nearest to a difference from the origin, and the head that it leads to. `apart`: how far it
 * was from that before.
 */
export function changeTo(
  wanted: Vector,
  head: Uint8Array,
): { change: Uint8Array<ArrayBuffer>; head: Uint8Array<ArrayBuffer>; apart: number } {
  const has = unpack(head, wanted.length)!
  const apart = distance(wanted, has)
  const change = new Uint8Array(changeSize(wanted.length))
  const parts = partsOf(change, wanted.length)
  forBlocks(wanted.length, (block, from, to) => writeBlock(parts, block, { wanted, has, from, to }))
  step(has, parts)
  return { change, head: pack(has), apart }
}

/** The head to which these changes lead from another, one after another. Undefined if anything is malformed. */
export function follow(
  head: Uint8Array,
  changes: Uint8Array,
  values: number,
): Uint8Array<ArrayBuffer> | undefined {
  const size = changeSize(values)
  if (changes.length === 0 || changes.length % size !== 0) return undefined
  let packed: Uint8Array | undefined = head
  let next: Uint8Array<ArrayBuffer> | undefined
  for (let at = 0; at < changes.length; at += size) {
    const has = unpack(packed, values)
    if (!has || !step(has, partsOf(changes.subarray(at, at + size), values))) return undefined
    next = pack(has)
    packed = next
  }
  return next
}

interface Parts {
  means: DataView
  signs: Uint8Array
}

function partsOf(change: Uint8Array, values: number): Parts {
  const meansLength = 2 * Math.ceil(values / BLOCK)
  return {
    means: new DataView(change.buffer, change.byteOffset, meansLength),
    signs: change.subarray(meansLength),
  }
}

function forBlocks(values: number, run: (block: number, from: number, to: number) => void): void {
  inParts(Math.ceil(values / BLOCK), (first, last) => {
    for (let block = first; block < last; block++)
      run(block, block * BLOCK, Math.min(values, (block + 1) * BLOCK))
  })
}

function writeBlock(
  { means, signs }: Parts,
  block: number,
  { wanted, has, from, to }: { wanted: Vector; has: Vector; from: number; to: number },
): void {
  let sum = 0
  for (let i = from; i < to; i++) {
    const lacks = wanted[i]! - has[i]!
    sum += Math.abs(lacks)
    if (lacks > 0) signs[i >> 3]! |= 1 << (i & 7)
  }
  means.setUint16(2 * block, upperHalf(sum / (to - from)), true)
}

/** False if a mean is negative or not finite. */
function step(has: Vector, { means, signs }: Parts): boolean {
  let isSound = true
  forBlocks(has.length, (block, from, to) => {
    const mean = fromUpperHalf(means.getUint16(2 * block, true))
    if (mean >= 0 && mean < Number.POSITIVE_INFINITY) stepBlock(has, signs, mean, from, to)
    else isSound = false
  })
  return isSound
}

function stepBlock(has: Vector, signs: Uint8Array, mean: number, from: number, to: number): void {
  for (let i = from; i < to; i++) has[i]! += (signs[i >> 3]! >> (i & 7)) & 1 ? mean : -mean
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
