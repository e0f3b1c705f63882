// Reads numbers and strings one after another from the start of a file, of which only a part may be in memory.

import { isUtf8 } from 'node:buffer'
import type { WaggleError } from '../../../protocol/errors.ts'
import { count, modelError, quote } from '../safetensors/json.ts'

export const DAMAGED = 'The file is damaged, or was not written by a GGUF tool. Download or convert it again.'
export const TRUNCATED = 'The file is truncated: a download or copy stopped half-way. Fetch it again.'

/** More of the file must be read before parsing can continue. */
export class NeedsMore extends Error {}

export interface Source {
  /** The first bytes of the file. */
  bytes: Buffer
  /** Size of the whole file. */
  fileBytes: number
  /** The file's name, for messages. */
  where: string
}

export interface Bytes {
  readonly at: number
  /** Bytes of the file that have not been read yet. */
  readonly left: number
  u8(): number
  i8(): number
  u16(): number
  i16(): number
  u32(): number
  i32(): number
  f32(): number
  f64(): number
  /** A whole number that counts something. `what` names it in the error for a number that is too large. */
  u64(what: string): number
  /** Any whole number of 64 bits. */
  anyU64(): bigint
  anyI64(): bigint
  /** UTF-8 text of at most `most` bytes. */
  text(what: string, most: number): string
  /** The next bytes, not copied. */
  take(length: number, what: string): Buffer
  fail(problem: string, hint?: string): WaggleError
}

export function readBytes({ bytes, fileBytes, where }: Source): Bytes {
  let at = 0
  const fail = (problem: string, hint = DAMAGED) => modelError(where, problem, hint)
  const skip = (length: number, what: string): number => {
    if (length > fileBytes - at) {
      throw fail(`the file ends within ${what}, after ${count(fileBytes)}`, TRUNCATED)
    }
    if (length > bytes.length - at) throw new NeedsMore()
    at += length
    return at - length
  }
  const u64 = (what: string): number => {
    const value = bytes.readBigUInt64LE(skip(8, what))
    if (Number.isSafeInteger(Number(value))) return Number(value)
    throw fail(`${what} is ${value}, which is too large`)
  }
  const take = (length: number, what: string) => {
    const from = skip(length, what)
    return bytes.subarray(from, from + length)
  }
  const part = 'the header'
  return {
    get at() {
      return at
    },
    get left() {
      return fileBytes - at
    },
    u8: () => bytes.readUInt8(skip(1, part)),
    i8: () => bytes.readInt8(skip(1, part)),
    u16: () => bytes.readUInt16LE(skip(2, part)),
    i16: () => bytes.readInt16LE(skip(2, part)),
    u32: () => bytes.readUInt32LE(skip(4, part)),
    i32: () => bytes.readInt32LE(skip(4, part)),
    f32: () => bytes.readFloatLE(skip(4, part)),
    f64: () => bytes.readDoubleLE(skip(8, part)),
    u64,
    anyU64: () => bytes.readBigUInt64LE(skip(8, part)),
    anyI64: () => bytes.readBigInt64LE(skip(8, part)),
    text(what, most) {
      const length = u64(`the length of ${what}`)
      if (length > most) throw fail(`${what} is ${count(length)} long; at most ${count(most)} are allowed`)
      const found = take(length, what)
      if (!isUtf8(found)) throw fail(`${what} is not UTF-8 text: ${quote(found.toString('latin1'))}`)
      return found.toString('utf8')
    },
    take,
    fail,
  }
}
