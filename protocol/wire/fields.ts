// Reads a map's fields one by one against a closed schema. `end` refuses fields that were not read, unless the sender's
// minor version is newer than ours, since it may then have fields that we do not know.

import { Buffer } from 'node:buffer'
import type { Value, ValueMap } from './cbor.ts'
import { malformed } from './fault.ts'
import { SCHEMA_MINOR } from './frame.ts'
import { publicKeyOf } from './peer-id.ts'

export class Fields {
  private readonly map: ValueMap
  private readonly minor: number
  private asked = 0

  private constructor(map: ValueMap, minor: number) {
    this.map = map
    this.minor = minor
  }

  static of(value: Value | undefined, minor: number): Fields {
    if (!(value instanceof Map)) throw malformed('a map is missing')
    return new Fields(value, minor)
  }

  /** Call once for each name. */
  get(name: string): Value | undefined {
    const value = this.map.get(name)
    if (value !== undefined) this.asked++
    return value
  }

  fields(name: string): Fields {
    return Fields.of(this.get(name), this.minor)
  }

  integer(name: string, low: number, high = Number.MAX_SAFE_INTEGER): number {
    const value = this.get(name)
    if (typeof value !== 'number' || value < low || value > high) throw malformed(name)
    return value
  }

  text(name: string, limit: number): string {
    const value = this.get(name)
    if (typeof value !== 'string' || value.length > limit) throw malformed(name)
    return value
  }

  name(name: string, pattern: RegExp): string {
    const value = this.text(name, 64)
    if (!pattern.test(value)) throw malformed(name)
    return value
  }

  oneOf<const T extends string>(name: string, choices: readonly T[]): T {
    const value = this.get(name)
    if (!choices.includes(value as T)) throw malformed(name)
    return value as T
  }

  /** A SHA-256, as 64 hex digits. */
  digest(name: string): string {
    return digestIn(this.bytes(name), name)
  }

  /** Undefined if it is absent. */
  optionalInteger(name: string, low: number, high: number): number | undefined {
    return this.map.has(name) ? this.integer(name, low, high) : undefined
  }

  /** Undefined if it is absent. */
  optionalDigest(name: string): string | undefined {
    return this.map.has(name) ? this.digest(name) : undefined
  }

  optional(name: string): Fields | undefined {
    return this.map.has(name) ? this.fields(name) : undefined
  }

  bytes(name: string): Uint8Array | undefined {
    const value = this.get(name)
    if (value !== undefined && !(value instanceof Uint8Array)) throw malformed(name)
    return value
  }

  end(): void {
    if (this.map.size > this.asked && this.minor <= SCHEMA_MINOR) throw malformed('unknown field')
  }
}

export function list(value: Value | undefined, low: number, high: number): Value[] {
  if (!Array.isArray(value) || value.length < low || value.length > high) throw malformed('a list')
  return value
}

/** A SHA-256, as 64 hex digits. */
export function digestIn(value: Value | undefined, name = 'a hash'): string {
  if (!(value instanceof Uint8Array) || value.length !== 32) throw malformed(name)
  return Buffer.from(value).toString('hex')
}

export function peerIn(value: Value | undefined): string {
  if (typeof value !== 'string' || publicKeyOf(value) === undefined) throw malformed('a peer ID')
  return value
}
