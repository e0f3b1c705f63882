// Canonical CBOR for message bodies: the deterministic form of RFC 8949 with keys ordered by length and then bytewise
// (section 4.2.3), and a smaller data model: integers within +-(2^53 - 1), byte and text strings, arrays, maps with
// text keys, true, false, null. No tags, no floats, no indefinite lengths. Each value has exactly one encoding.
// Encoding uses cborg. The decoder is our own, because cborg's accepts keys in any order and limits neither depth nor
// counts; this one checks each length, depth and order before it allocates anything.

import { Buffer, isUtf8 } from 'node:buffer'
import { encode as cborgEncode } from 'cborg'
import { malformed } from './fault.ts'
import { MAX_DEPTH, MAX_ITEMS } from './limits.ts'

export type Value = number | string | boolean | null | Uint8Array | Value[] | ValueMap
export type ValueMap = Map<string, Value>
/** What may be written; objects become maps. */
export type Writable =
  | number
  | string
  | boolean
  | null
  | Uint8Array
  | Writable[]
  | { [key: string]: Writable }

export function writeCbor(value: Writable): Uint8Array {
  return cborgEncode(value)
}

/** Reads exactly one value that fills all of `bytes`; anything else is a WireFault. */
export function readCbor(bytes: Uint8Array): Value {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.at !== bytes.length) throw malformed('bytes left over')
  return value
}

class Reader {
  at = 0
  readonly bytes: Uint8Array
  readonly buffer: Buffer
  private items = 0

  constructor(bytes: Uint8Array) {
    // With a Buffer, every slice would be a Buffer too.
    this.bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  value(depth: number): Value {
    if (depth > MAX_DEPTH) throw malformed('nested too deep')
    if (++this.items > MAX_ITEMS) throw malformed('too many items')
    const first = this.byte()
    const major = first >> 5
    if (major === 7) return simple(first)
    if (major === 6) throw malformed('tag')
    const argument = this.argument(first & 31)
    switch (major) {
      case 0:
        return argument
      case 1:
        if (argument >= Number.MAX_SAFE_INTEGER) throw malformed('number too large')
        return -1 - argument
      case 2:
        return this.take(argument)
      case 3:
        return this.text(argument)
      case 4:
        return this.array(argument, depth)
      default:
        return this.map(argument, depth)
    }
  }

  /** The length or number after the first byte, which must have its shortest form. */
  private argument(minor: number): number {
    if (minor < 24) return minor
    if (minor > 27) throw malformed('indefinite or reserved length')
    const width = 1 << (minor - 24)
    if (this.at + width > this.bytes.length) throw malformed('cut short')
    const at = this.at
    this.at += width
    if (width < 8) {
      const value = this.buffer.readUIntBE(at, width)
      if (value < (width === 1 ? 24 : width === 2 ? 0x100 : 0x1_0000)) throw malformed('not in shortest form')
      return value
    }
    const high = this.buffer.readUInt32BE(at)
    // Nothing on this wire uses numbers beyond 2^53 - 1.
    if (high === 0) throw malformed('not in shortest form')
    if (high > 0x1f_ffff) throw malformed('number too large')
    return high * 0x1_0000_0000 + this.buffer.readUInt32BE(at + 4)
  }

  private byte(): number {
    const value = this.bytes[this.at]
    if (value === undefined) throw malformed('cut short')
    this.at++
    return value
  }

  private take(length: number): Uint8Array {
    if (length > this.bytes.length - this.at) throw malformed('cut short')
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  private text(length: number): string {
    const slice = this.take(length)
    if (!isUtf8(slice)) throw malformed('text is not UTF-8')
    return this.buffer.toString('utf8', this.at - length, this.at)
  }

  private array(length: number, depth: number): Value[] {
    // Each entry takes at least a byte, so a count larger than the rest is refused before anything is allocated.
    if (length > this.bytes.length - this.at) throw malformed('cut short')
    const array: Value[] = []
    for (let i = 0; i < length; i++) array.push(this.value(depth + 1))
    return array
  }

  private map(length: number, depth: number): ValueMap {
    if (length * 2 > this.bytes.length - this.at) throw malformed('cut short')
    const map: ValueMap = new Map()
    let previous: Uint8Array | undefined
    for (let i = 0; i < length; i++) {
      if (this.bytes[this.at]! >> 5 !== 3) throw malformed('key is not text')
      const start = this.at
      const key = this.value(depth + 1) as string
      const encoded = this.bytes.subarray(start, this.at)
      if (previous !== undefined && !ascends(previous, encoded))
        throw malformed('keys out of order or repeated')
      previous = encoded
      map.set(key, this.value(depth + 1))
    }
    return map
  }
}

function simple(first: number): boolean | null {
  if (first === 0xf4) return false
  if (first === 0xf5) return true
  if (first === 0xf6) return null
  throw malformed('float or unknown simple value')
}

/** Shorter first, then bytewise. Both are encoded keys; within one length, the head byte already gives the order. */
function ascends(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return a.length < b.length
  return Buffer.compare(a, b) < 0
}
