// Exact rational numbers, read from untrusted text: 12, -1,234, 0.5, 6.02e23, and on request a/b and \frac{a}{b}. A
// strict grammar with BigInt; nothing is rounded or evaluated. Lengths and exponents are limited.

import { gcd, latexFraction, MAX_NUMBER_CHARS, withoutCommas } from '../../numbers.ts'

/** `bottom` is positive. Not always in lowest terms. */
export interface Rational {
  top: bigint
  bottom: bigint
}

const DECIMAL = /^([+-]?)([0-9][0-9,]*)?(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/
const MAX_EXPONENT = 400

/** Null unless the text is exactly one number. */
export function readDecimal(text: string): Rational | null {
  if (text.length === 0 || text.length > MAX_NUMBER_CHARS) return null
  const [, sign, whole, part = '', power = '0'] = DECIMAL.exec(text) ?? []
  if (whole === undefined && part === '') return null
  const digits = whole === undefined ? '0' : withoutCommas(whole)
  if (digits === null || !/^[0-9]+$/.test(digits)) return null
  const exponent = Number(power) - part.length
  if (Math.abs(Number(power)) > MAX_EXPONENT) return null
  const value = BigInt(digits + part) * (sign === '-' ? -1n : 1n)
  return exponent >= 0
    ? { top: value * 10n ** BigInt(exponent), bottom: 1n }
    : { top: value, bottom: 10n ** BigInt(-exponent) }
}

/** A decimal, or a quotient of two integers; `parts` has them as written. */
export function readFraction(text: string): (Rational & { parts?: [bigint, bigint] }) | null {
  if (text.length > 4 * MAX_NUMBER_CHARS) return null
  const latex = latexFraction(text)
  const [first, second, ...more] = latex ? [latex.top, latex.bottom] : text.replace('\u2044', '/').split('/')
  if (more.length > 0) return null
  if (second === undefined) return readDecimal(first!)
  const [a, b] = [whole(first!), whole(second)]
  if (a === null || b === null || b === 0n) return null
  const top = latex?.sign === '-' ? -a : a
  return { ...(b < 0n ? { top: -top, bottom: -b } : { top, bottom: b }), parts: [top, b] }
}

function whole(text: string): bigint | null {
  const trimmed = text.trim()
  return /^[+-]?[0-9][0-9,]*$/.test(trimmed) ? (readDecimal(trimmed)?.top ?? null) : null
}

export const sameValue = (a: Rational, b: Rational): boolean => a.top * b.bottom === b.top * a.bottom

export const isLowest = ([top, bottom]: [bigint, bigint]): boolean => bottom > 0n && gcd(top, bottom) === 1n

const size = (value: bigint): bigint => (value < 0n ? -value : value)

/** |a - b| <= tolerance, computed exactly. */
export function within(a: Rational, b: Rational, tolerance: Rational): boolean {
  const gap = size(a.top * b.bottom - b.top * a.bottom)
  return gap * tolerance.bottom <= tolerance.top * a.bottom * b.bottom
}

export const times = (a: Rational, b: Rational): Rational => ({
  top: size(a.top * b.top),
  bottom: a.bottom * b.bottom,
})
