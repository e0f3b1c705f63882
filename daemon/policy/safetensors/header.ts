// The header of a safetensors file, parsed and checked against the file's size before memory is allocated for anything.
// The rules are those of the format's reference implementation: no duplicate names, every byte of data belongs to
// exactly one tensor, and a tensor's bytes are its shape times its dtype. Each defect has its own error.

import type { WaggleError } from '../../../protocol/errors.ts'
import { DTYPES, type Dtype, isDtype } from './dtypes.ts'
import { asObject, count, FETCH_AGAIN, modelError, parseJson, quote, stringMap } from './json.ts'

/** The reference implementation's limit. */
export const MAX_HEADER_BYTES = 100_000_000
/** PyTorch's limit on the number of dimensions. */
const MAX_RANK = 64

export interface TensorInfo {
  dtype: Dtype
  shape: readonly number[]
  /** Number of values. */
  length: number
  /** Offset of the bytes from the start of the file. */
  start: number
  bytes: number
}

export interface Header {
  /** In the order of their bytes in the file. */
  tensors: Map<string, TensorInfo>
  metadata: Record<string, string>
}

const TRUNCATED = 'The file is truncated: a download or copy stopped half-way. Fetch it again.'

/** The length of the header in bytes, from the first 8 bytes of a file of `fileBytes` bytes. */
export function headerLength(first: Uint8Array, fileBytes: number, where: string): number {
  if (fileBytes < 10) throw modelError(where, `the file is only ${count(fileBytes)} long`, TRUNCATED)
  const length = new DataView(first.buffer, first.byteOffset, 8).getBigUint64(0, true)
  if (length > MAX_HEADER_BYTES) {
    const hint = `At most ${count(MAX_HEADER_BYTES)} are allowed. This is probably not a safetensors file.`
    throw modelError(where, `the header claims to be ${length} bytes long`, hint)
  }
  if (Number(length) > fileBytes - 8) {
    throw modelError(
      where,
      `the header claims ${length} bytes, but the file has ${count(fileBytes)}`,
      TRUNCATED,
    )
  }
  if (length < 2n) throw modelError(where, `the header is only ${length} bytes long`, FETCH_AGAIN)
  return Number(length)
}

export function parseHeader(header: Uint8Array, fileBytes: number, where: string): Header {
  const fail = (problem: string, hint = FETCH_AGAIN) => modelError(where, problem, hint)
  const document = parseJson(header, where, 'header')
  let metadata: Record<string, string> = {}
  const found: Array<[string, TensorInfo]> = []
  const dataStart = 8 + header.length
  for (const [name, entry] of Object.entries(document)) {
    if (name === '__metadata__') metadata = stringMap(entry, where)
    else found.push([name, tensorInfo(quote(name), entry, dataStart, fail)])
  }

  found.sort(([, a], [, b]) => a.start - b.start || a.bytes - b.bytes)
  let end = dataStart
  for (const [name, { start, bytes }] of found) {
    if (start < end) throw fail(`tensor ${quote(name)} overlaps the one before it by ${count(end - start)}`)
    if (start > end) throw fail(`${count(start - end)} before tensor ${quote(name)} belong to no tensor`)
    end += bytes
  }
  if (end > fileBytes) {
    throw fail(`the header promises ${count(end)}, the file has ${count(fileBytes)}`, TRUNCATED)
  }
  if (end < fileBytes) throw fail(`${count(fileBytes - end)} after the last tensor belong to no tensor`)
  return { tensors: new Map(found), metadata }
}

function tensorInfo(
  name: string,
  entry: unknown,
  dataStart: number,
  fail: (problem: string, hint?: string) => WaggleError,
): TensorInfo {
  const { dtype, shape, data_offsets: offsets } = asObject(entry) ?? {}
  if (typeof dtype !== 'string' || !Array.isArray(shape) || !Array.isArray(offsets)) {
    throw fail(`tensor ${name} lacks a dtype, shape or data_offsets`)
  }
  if (!isDtype(dtype)) {
    throw fail(`tensor ${name} has dtype ${quote(dtype)}`, `Supported: ${Object.keys(DTYPES).join(', ')}.`)
  }
  if (shape.length > MAX_RANK || !shape.every(isSize)) throw fail(`tensor ${name} has an impossible shape`)
  let length = 1
  for (const size of shape) {
    length *= size
    if (!Number.isSafeInteger(length * 8)) throw fail(`tensor ${name} has an impossible shape`)
  }
  const [begin, end] = offsets
  if (offsets.length !== 2 || !isSize(begin) || !isSize(end) || begin > end) {
    throw fail(`tensor ${name} has impossible data_offsets`)
  }
  const bytes = length * DTYPES[dtype].size
  if (end - begin !== bytes) {
    const claim = `${dtype} [${shape.join(', ')}] takes ${count(bytes)}`
    throw fail(`tensor ${name}: ${claim}, but its data_offsets span ${count(end - begin)}`)
  }
  return { dtype, shape, length, start: dataStart + begin, bytes }
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
