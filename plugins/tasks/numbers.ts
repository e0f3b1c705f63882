// Reads numbers in untrusted answers, strictly. Returns null for anything doubtful; nothing throws.
//
// Normalisation is that of the strict profile: NFKC, trim, one trailing full stop removed, wrapping marks removed (at
// most three pairs, as in `$\boxed{**2**}$`), U+2212 to a hyphen. Lengths are checked before any expensive step.
// `Number()` is not used, since it accepts "0x10", "" and "1e3".

import { trimSpaces } from './answer.ts'

export const MAX_NUMBER_CHARS = 64

const MAX_WRAPPINGS = 3
const WRAPPINGS: ReadonlyArray<readonly [string, string]> = [
  ['\\boxed{', '}'],
  ['\\(', '\\)'],
  ['\\[', '\\]'],
  ['**', '**'],
  ['$$', '$$'],
  ['$', '$'],
  ['`', '`'],
  ['"', '"'],
  ["'", "'"],
  ['\u201c', '\u201d'],
  ['\u2018', '\u2019'],
]

/** NFKC would turn 10² into 102, and a subscript base into digits. */
const RAISED_OR_LOWERED = /[\u00b2\u00b3\u00b9\u2070-\u209f]/

/** NFKC would turn 5\u00bd into 51/2, and \u00bd3 into 1/23. */
const FRACTION_BY_NUMBER = /\p{N}[\u00bc-\u00be\u2150-\u215f\u2189]|[\u00bc-\u00be\u2150-\u215f\u2189]\p{N}/u

/** The answer without marks that do not change its meaning; null if it is too long or NFKC would change its value. */
export function plainAnswer(text: string, limit = 4 * MAX_NUMBER_CHARS): string | null {
  if (text.length > limit || RAISED_OR_LOWERED.test(text) || FRACTION_BY_NUMBER.test(text)) return null
  const trimmed = trimSpaces(text.normalize('NFKC'))
  const outer = withoutStop(trimmed)
  let bare = outer
  for (let i = 0; i < MAX_WRAPPINGS; i++) bare = unwrap(bare)
  const inner = outer === trimmed ? withoutStop(bare) : bare
  return trimSpaces(inner).replaceAll('\u2212', '-')
}

function withoutStop(text: string): string {
  return text.endsWith('.') ? text.slice(0, -1) : text
}

function unwrap(text: string): string {
  for (const [open, close] of WRAPPINGS)
    if (text.length > open.length + close.length && text.startsWith(open) && text.endsWith(close))
      return trimSpaces(text.slice(open.length, text.length - close.length))
  return text
}

const DIGITS = /^[0-9]+$/

/** An integer with optional sign, thousands commas and trailing `.0`s; only its value counts. */
export function readInteger(text: string): bigint | null {
  if (text.length === 0 || text.length > MAX_NUMBER_CHARS) return null
  const negative = text.startsWith('-')
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text
  const [whole = '', tail, ...more] = unsigned.split('.')
  if (more.length > 0 || (tail !== undefined && !/^0+$/.test(tail))) return null
  const digits = withoutCommas(whole)
  if (digits === null || !DIGITS.test(digits)) return null
  return negative ? -BigInt(digits) : BigInt(digits)
}

const LATEX_FRACTION = /^([+-]?)\\[dt]?frac\s*(?:\{([^{}]*)\}|([0-9]))\s*(?:\{([^{}]*)\}|([0-9]))$/

/** Sign, numerator and denominator of `\frac{a}{b}` and the like, as written; as in LaTeX, `\frac12` is one half. */
export function latexFraction(text: string): { sign: string; top: string; bottom: string } | null {
  const [whole, sign = '', top, topDigit = '', bottom, bottomDigit = ''] = LATEX_FRACTION.exec(text) ?? []
  return whole === undefined ? null : { sign, top: top ?? topDigit, bottom: bottom ?? bottomDigit }
}

/** Removes commas that separate the digits by threes, as in 1,234,567. */
export function withoutCommas(text: string): string | null {
  const [head = '', ...groups] = text.split(',')
  if (groups.length === 0) return text
  const wellParted = head.length >= 1 && head.length <= 3 && groups.every((group) => group.length === 3)
  return wellParted ? head + groups.join('') : null
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}
