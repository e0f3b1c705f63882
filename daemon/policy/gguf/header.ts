// The header of a GGUF file: metadata by key, and the location of each tensor. Everything is checked against the file's
// size before memory is allocated for it. Each defect has its own error.
//
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

import { count, quote } from '../safetensors/json.ts'
import { type Bytes, readBytes, type Source, TRUNCATED } from './bytes.ts'
import { codeName, TENSOR_TYPES, type TensorTypeName, typeOfCode } from './types.ts'

/**
 * Arrays of numbers or booleans are typed arrays, so they take no more memory than in the file. A whole number that a
 * double cannot hold is a bigint: a seed or a hash, which nobody counts with.
 */
export type MetadataValue =
  | number
  | bigint
  | boolean
  | string
  | readonly string[]
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array

export type Metadata = ReadonlyMap<string, MetadataValue>

export interface TensorLocation {
  type: TensorTypeName
  /** Rows first, as in Hugging Face's files. The GGUF file has the reverse order. */
  shape: readonly number[]
  /** Number of values. */
  length: number
  /** Offset of the bytes from the start of the file. */
  start: number
  bytes: number
}

export interface Header {
  metadata: Metadata
  /** Each entry exactly as it is in the file: key, type and value. */
  encoded: ReadonlyMap<string, Uint8Array>
  tensors: ReadonlyMap<string, TensorLocation>
}

const VERSIONS = [2, 3]
const LONGEST_KEY = 65_535
/** ggml's limits. */
const LONGEST_NAME = 63
const MAX_DIMENSIONS = 4
const DEFAULT_ALIGNMENT = 32
/** The chat template of any published model is far shorter. */
const LONGEST_TEXT = 16 * 1024 * 1024
/** Bytes of the smallest entry (key length, type, value) and tensor (name length, rank, one size, type, offset). */
const MIN_ENTRY = 8 + 4 + 1
const MIN_TENSOR = 8 + 4 + 8 + 4 + 8

/** Throws NeedsMore if `source.bytes` is too short for the header. */
export function parseHeader(source: Source): Header {
  const from = readBytes(source)
  requireVersion(from)
  const tensorCount = from.u64('the number of tensors')
  const entryCount = from.u64('the number of metadata entries')
  requireRoom(from, 'metadata entries', entryCount, MIN_ENTRY)
  const metadata = new Map<string, MetadataValue>()
  const encoded = new Map<string, Uint8Array>()
  for (let i = 0; i < entryCount; i++) {
    const start = from.at
    const key = from.text('the key of a metadata entry', LONGEST_KEY)
    if (metadata.has(key)) throw from.fail(`the metadata have ${quote(key)} twice`)
    metadata.set(key, readValue(from, key))
    encoded.set(key, source.bytes.subarray(start, from.at))
  }
  requireRoom(from, 'tensors', tensorCount, MIN_TENSOR)
  const tensors = new Map<string, TensorLocation>()
  for (let i = 0; i < tensorCount; i++) {
    const name = from.text('the name of a tensor', LONGEST_NAME)
    if (tensors.has(name)) throw from.fail(`there are two tensors called ${quote(name)}`)
    tensors.set(name, readTensor(from, name))
  }
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT
  if (
    typeof alignment !== 'number' ||
    alignment < 1 ||
    alignment > 65_536 ||
    (alignment & (alignment - 1)) !== 0
  ) {
    throw from.fail('"general.alignment" is not a power of two')
  }
  const dataStart = Math.ceil(from.at / alignment) * alignment
  return {
    metadata,
    encoded,
    tensors: placed(tensors, { dataStart, alignment, fileBytes: source.fileBytes }, from),
  }
}

function requireVersion(from: Bytes): void {
  const magic = from.take(4, 'the first four bytes').toString('latin1')
  if (magic !== 'GGUF') {
    throw from.fail(`it begins with ${quote(magic)}, not with "GGUF"`, 'This is not a GGUF file.')
  }
  const version = from.u32()
  if (VERSIONS.includes(version)) return
  const isSwapped = version % 65_536 === 0
  throw from.fail(
    isSwapped ? 'it was written for big-endian machines' : `its GGUF version is ${version}`,
    `Versions ${VERSIONS.join(' and ')}, little-endian, are supported. Convert the model again.`,
  )
}

function requireRoom(from: Bytes, what: string, claimed: number, each: number): void {
  if (claimed <= from.left / each) return
  throw from.fail(`it claims ${claimed.toLocaleString('en-US')} ${what}, for which the file is too short`)
}

const READ = [
  'u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'text', 'array', 'u64', 'i64', 'f64',
] as const // biome-ignore format: a list
type Kind = (typeof READ)[number]

/** Arrays of 64-bit whole numbers become F64. */
const PACKED = {
  u8: [1, Uint8Array],
  i8: [1, Int8Array],
  u16: [2, Uint16Array],
  i16: [2, Int16Array],
  u32: [4, Uint32Array],
  i32: [4, Int32Array],
  f32: [4, Float32Array],
  bool: [1, Uint8Array],
  f64: [8, Float64Array],
} as const

function kindOf(from: Bytes, key: string): Kind {
  const code = from.u32()
  const kind = READ[code]
  if (kind !== undefined) return kind
  throw from.fail(`the metadata entry ${quote(key)} has a value of type ${code}, which GGUF does not have`)
}

function readValue(from: Bytes, key: string): MetadataValue {
  const kind = kindOf(from, key)
  if (kind === 'array') return readArray(from, key)
  const what = `the metadata entry ${quote(key)}`
  switch (kind) {
    case 'text':
      return from.text(what, LONGEST_TEXT)
    case 'bool':
      return from.u8() !== 0
    case 'u64':
      return exact(from.anyU64())
    case 'i64':
      return exact(from.anyI64())
    default:
      return from[kind]()
  }
}

function exact(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function readArray(from: Bytes, key: string): MetadataValue {
  const what = `the metadata entry ${quote(key)}`
  const kind = kindOf(from, key)
  const length = from.u64(`the length of ${what}`)
  if (kind === 'array') throw from.fail(`${what} has arrays within an array`)
  if (kind === 'text') {
    requireRoom(from, `texts in ${quote(key)}`, length, 8)
    const texts: string[] = []
    for (let i = 0; i < length; i++) texts.push(from.text(`a text of ${what}`, LONGEST_TEXT))
    return texts
  }
  if (kind === 'u64' || kind === 'i64') {
    requireRoom(from, `numbers in ${quote(key)}`, length, 8)
    const numbers = new Float64Array(length)
    for (let i = 0; i < length; i++) numbers[i] = Number(kind === 'u64' ? from.anyU64() : from.anyI64())
    return numbers
  }
  const [size, Packed] = PACKED[kind]
  requireRoom(from, `numbers in ${quote(key)}`, length, size)
  const bytes = Uint8Array.from(from.take(length * size, what))
  return new Packed(bytes.buffer)
}

function readTensor(from: Bytes, name: string): TensorLocation {
  const shown = `tensor ${quote(name)}`
  const dimensions = from.u32()
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
    throw from.fail(`${shown} has ${dimensions} dimensions; 1 to ${MAX_DIMENSIONS} are possible`)
  }
  const shape: number[] = []
  let length = 1
  for (let i = 0; i < dimensions; i++) {
    const size = from.u64(`a size of ${shown}`)
    length *= size
    if (size < 1 || !Number.isSafeInteger(length * 8)) throw from.fail(`${shown} has an impossible shape`)
    shape.push(size)
  }
  const code = from.u32()
  const type = typeOfCode(code)
  if (type === undefined) {
    throw from.fail(
      `${shown} has the type ${codeName(code)}, which is not supported`,
      `Supported: ${Object.keys(TENSOR_TYPES).join(', ')}. Look for the model in one of these.`,
    )
  }
  const { values, bytes } = TENSOR_TYPES[type]
  if (shape[0]! % values !== 0) {
    throw from.fail(`${shown} has rows of ${shape[0]} values, which is not a multiple of ${type}'s ${values}`)
  }
  const start = from.u64(`the offset of ${shown}`)
  return { type, shape: shape.reverse(), length, start, bytes: (length / values) * bytes }
}

/** The tensors, in the order of their bytes, with `start` counted from the start of the file. */
function placed(
  tensors: Map<string, TensorLocation>,
  { dataStart, alignment, fileBytes }: { dataStart: number; alignment: number; fileBytes: number },
  from: Bytes,
): Map<string, TensorLocation> {
  let end = 0
  const inOrder = [...tensors].sort(([, a], [, b]) => a.start - b.start || a.bytes - b.bytes)
  for (const [name, { start, bytes }] of inOrder) {
    if (start % alignment !== 0)
      throw from.fail(`tensor ${quote(name)} does not start on a multiple of ${alignment}`)
    if (start < end)
      throw from.fail(`tensor ${quote(name)} overlaps the one before it by ${count(end - start)}`)
    end = start + bytes
    if (dataStart + end > fileBytes) {
      throw from.fail(
        `tensor ${quote(name)} ends at ${count(dataStart + end)}, the file has ${count(fileBytes)}`,
        TRUNCATED,
      )
    }
  }
  return new Map(
    inOrder.map(([name, location]) => [name, { ...location, start: dataStart + location.start }]),
  )
}
