// The codec of groups, token rows and other data with arrays of numbers in this node's own files: the pool, checkpoints
// and plugins' states. It keeps every value bit for bit: -0, NaN, lone surrogates, absent keys. A record is a digest,
// which detects damage, and CBOR with the tags of RFC 8746 for typed arrays. Peers get the wire format instead
// (protocol/wire).

import { createHash } from 'node:crypto'
import { decode, type EncodeOptions, encode, Token, Type } from 'cborg'

/** Damage is an accident, not an attack: 8 bytes of SHA-256 miss one in 10^19. */
const DIGEST_BYTES = 8
/** Little-endian, as all machines that this runs on. */
const TAG = { bytes: 64, uint16: 69, int32: 78, float32: 85, float64: 86 }
/** A text with a lone surrogate, which UTF-8 cannot hold, as UTF-16. Not a registered tag. */
const LOOSE_TEXT = 0x77_67_6c

type Numbers = Int32Array | Uint16Array | Float32Array | Float64Array | Uint8Array

const tagged = (tag: number, { buffer, byteOffset, byteLength }: Numbers): Token[] => [
  new Token(Type.tag, tag),
  new Token(Type.bytes, new Uint8Array(buffer, byteOffset, byteLength)),
]

const ENCODING: EncodeOptions = {
  ignoreUndefinedProperties: true,
  // Keys stay in their order.
  mapSorter: () => 0,
  typeEncoders: {
    Uint8Array: (values: Uint8Array) => tagged(TAG.bytes, values),
    Float32Array: (values: Float32Array) => tagged(TAG.float32, values),
    Float64Array: (values: Float64Array) => tagged(TAG.float64, values),
    // Token ids take two bytes each if that is enough.
    Int32Array: (values: Int32Array) =>
      values.every((value) => value >= 0 && value <= 0xffff)
        ? tagged(TAG.uint16, Uint16Array.from(values))
        : tagged(TAG.int32, values),
    // By default -0 becomes 0.
    number: (value: number) => (Object.is(value, -0) ? new Token(Type.float, value) : null),
    string: (text: string) =>
      text.isWellFormed() ? null : tagged(LOOSE_TEXT, new Uint8Array(Buffer.from(text, 'utf16le'))),
  },
}

/** A copy, aligned for any typed array. */
const bufferOf = (bytes: unknown): ArrayBuffer => Uint8Array.from(bytes as Uint8Array).buffer

const TAGS = {
  [TAG.bytes]: (read: () => unknown) => new Uint8Array(bufferOf(read())),
  [TAG.uint16]: (read: () => unknown) => Int32Array.from(new Uint16Array(bufferOf(read()))),
  [TAG.int32]: (read: () => unknown) => new Int32Array(bufferOf(read())),
  [TAG.float32]: (read: () => unknown) => new Float32Array(bufferOf(read())),
  [TAG.float64]: (read: () => unknown) => new Float64Array(bufferOf(read())),
  [LOOSE_TEXT]: (read: () => unknown) => Buffer.from(bufferOf(read())).toString('utf16le'),
}

/** `format` names the layout of the data and its version. Typed arrays may be of `Numbers`, except that Uint16Array becomes Int32Array. */
export function writeRecord(format: string, data: unknown): Uint8Array {
  const body = encode([format, data], ENCODING)
  const record = new Uint8Array(DIGEST_BYTES + body.length)
  record.set(digest(body))
  record.set(body, DIGEST_BYTES)
  return record
}

/** The data, in memory of its own. Throws an Error if the record is damaged or of another format. */
export function readRecord(format: string, record: Uint8Array): unknown {
  const body = record.subarray(DIGEST_BYTES)
  if (Buffer.compare(digest(body), record.subarray(0, DIGEST_BYTES)) !== 0)
    throw new Error('the record is damaged')
  const [written, data] = decode(body, { tags: TAGS })
  if (written !== format) throw new Error(`the record has the format ${written}, not ${format}`)
  return data
}

function digest(body: Uint8Array): Uint8Array {
  return createHash('sha256').update(body).digest().subarray(0, DIGEST_BYTES)
}
