// Arrays of numbers packed into byte strings: token IDs as varints, log-probs in 16 bits, and exact floats.
//
// A log-prob x in [-64, 0] is the code c = round(65535 * sqrt(-x / 64)), read back as -64 * (c / 65535)^2. The error is
// at most 1.3e-4 * sqrt(-x) + 4e-9: 1.3e-4 at -1, 1.3e-5 at -0.01, 4e-4 at -10. (float16 is off by up to 2.4e-4, 3.8e-6
// and 3.9e-3 there.) Every code is a finite, non-positive log-prob, so a peer cannot send anything else.

import { malformed, WireFault } from './fault.ts'
import { MAX_TOKEN_ID, MAX_TOKENS, MIN_LOGPROB } from './limits.ts'

const STEPS = 65_535

/**
 * Two bytes each, big-endian. Throws RangeError if a log-prob is not finite or is positive. An exact 0 is written as
 * the smallest step (-1.5e-8, whose probability float32 cannot tell from 1). Receivers refuse a completion of only
 * zeros: it claims certainty about every token, which only a forger would do.
 */
export function packLogprobs(logprobs: ArrayLike<number>): Uint8Array {
  const bytes = new Uint8Array(logprobs.length * 2)
  for (let i = 0; i < logprobs.length; i++) {
    const x = logprobs[i]!
    if (!(x <= 0 && x > Number.NEGATIVE_INFINITY)) throw new RangeError(`log-prob ${x} at token ${i}`)
    const code = Math.max(1, Math.round(STEPS * Math.sqrt(Math.max(x, MIN_LOGPROB) / MIN_LOGPROB)))
    bytes[2 * i] = code >> 8
    bytes[2 * i + 1] = code & 255
  }
  return bytes
}

/** Refuses a length that differs from the tokens', and a completion whose log-probs are all zero. */
export function unpackLogprobs(bytes: Uint8Array, tokens: number): Float32Array {
  if (bytes.length !== tokens * 2) throw new WireFault('forged', 'as many log-probs as tokens')
  const logprobs = new Float32Array(tokens)
  let any = 0
  for (let i = 0; i < tokens; i++) {
    const code = bytes[2 * i]! * 256 + bytes[2 * i + 1]!
    any |= code
    logprobs[i] = code === 0 ? 0 : MIN_LOGPROB * (code / STEPS) ** 2
  }
  if (tokens > 0 && any === 0) throw new WireFault('forged', 'all log-probs are zero')
  return logprobs
}

/** Encodes token IDs as consecutive unsigned LEB128 numbers. */
export function packTokens(tokens: ArrayLike<number>): Uint8Array {
  const bytes: number[] = []
  for (let i = 0; i < tokens.length; i++) {
    let rest = tokens[i]!
    if (!(Number.isInteger(rest) && rest >= 0 && rest < MAX_TOKEN_ID))
      throw new RangeError(`token id ${rest}`)
    for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
    bytes.push(rest)
  }
  return Uint8Array.from(bytes)
}

export function unpackTokens(bytes: Uint8Array): Int32Array {
  let count = 0
  for (const byte of bytes) if (byte < 128) count++
  if (count > MAX_TOKENS) throw malformed('too many tokens')
  const tokens = new Int32Array(count)
  let at = 0
  let value = 0
  let shift = 0
  for (const byte of bytes) {
    value |= (byte & 127) << shift
    if (byte >= 128) {
      shift += 7
      // Three bytes hold 21 bits, one more than the largest ID has.
      if (shift > 14) throw malformed('token id too long')
      continue
    }
    if (value >= MAX_TOKEN_ID || (byte === 0 && shift > 0)) throw malformed('token id')
    tokens[at++] = value
    value = 0
    shift = 0
  }
  if (shift > 0) throw malformed('token ids cut short')
  return tokens
}

/** Eight bytes each, big-endian. */
export function packDoubles(values: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(8 * values.length))
  for (const [i, value] of values.entries()) view.setFloat64(8 * i, value)
  return new Uint8Array(view.buffer)
}

/** All are finite. */
export function unpackDoubles(bytes: unknown, count: number): number[] {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 8 * count) throw malformed('numbers')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: count }, (_, i) => finite(view.getFloat64(8 * i)))
}

/** Four bytes each, little-endian. */
export function packFloats(values: Float32Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4 * values.length))
  for (const [i, value] of values.entries()) view.setFloat32(4 * i, value, true)
  return new Uint8Array(view.buffer)
}

/** All are finite. */
export function unpackFloats(bytes: unknown, count: number): Float32Array {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 4 * count) throw malformed('numbers')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Float32Array.from({ length: count }, (_, i) => finite(view.getFloat32(4 * i, true)))
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw malformed('a number that is not finite')
  return value
}
