// Single characters of a pattern: \d \w \s and their complements, \n \t, escapes, and [classes] of them and of ranges.

import type { Fault } from '../verifier.ts'

/** Takes a code point. */
export type CharTest = (point: number) => boolean

interface ReadTest {
  test: CharTest
  /** Position after this part of the pattern. */
  next: number
}

const between = (point: number, low: number, high: number): boolean => point >= low && point <= high
const digit: CharTest = (point) => between(point, 48, 57)
const word: CharTest = (point) =>
  digit(point) || between(point, 65, 90) || between(point, 97, 122) || point === 95
const space: CharTest = (point) => between(point, 9, 13) || point === 32 || point === 0xa0
const not =
  (test: CharTest): CharTest =>
  (point) =>
    !test(point)
const KINDS: Record<string, CharTest> = {
  d: digit,
  D: not(digit),
  w: word,
  W: not(word),
  s: space,
  S: not(space),
}
const CONTROL: Record<string, number> = { n: 10, t: 9, r: 13 }

/** A code point, or a class of characters. */
function escaped(chars: readonly string[], at: number, fault: (what: string) => Fault): number | CharTest {
  const char = chars[at + 1]
  if (char === undefined) throw fault('a single "\\" at the end; write \\\\ for itself')
  if (Object.hasOwn(KINDS, char)) return KINDS[char]!
  if (Object.hasOwn(CONTROL, char)) return CONTROL[char]!
  if (/[0-9]/.test(char)) throw fault('there are no back references')
  if (/[A-Za-z]/.test(char)) throw fault(`there is no \\${char}`)
  return char.codePointAt(0)!
}

/** Caches results by code point: many states share a test, and a class may be long. */
export function remembered(test: CharTest): CharTest {
  const known = new Map<number, boolean>()
  return (point) => {
    const result = known.get(point) ?? test(point)
    known.set(point, result)
    return result
  }
}

/** The same test, ignoring case. */
function folded(test: CharTest, ignoreCase: boolean): CharTest {
  if (!ignoreCase) return test
  return (point) => {
    if (test(point)) return true
    const char = String.fromCodePoint(point)
    return [char.toLowerCase(), char.toUpperCase()].some(
      // A test covers a single character, so "SS" for "ß" is left out.
      (other) => Array.from(other).length === 1 && test(other.codePointAt(0)!),
    )
  }
}

export function readEscape(
  chars: readonly string[],
  at: number,
  ignoreCase: boolean,
  fault: (what: string) => Fault,
): ReadTest {
  const read = escaped(chars, at, fault)
  const test: CharTest = typeof read === 'number' ? (point) => point === read : read
  return { test: typeof read === 'number' ? folded(test, ignoreCase) : test, next: at + 2 }
}

export function readClass(
  chars: readonly string[],
  from: number,
  ignoreCase: boolean,
  fault: (what: string) => Fault,
): ReadTest {
  let at = from + 1
  const negated = chars[at] === '^'
  if (negated) at++
  const tests: CharTest[] = []
  const one = (): number | CharTest => {
    const char = chars[at]
    if (char === undefined) throw fault('a "]" is missing')
    const read = char === '\\' ? escaped(chars, at, fault) : char.codePointAt(0)!
    at += char === '\\' ? 2 : 1
    return read
  }
  while (chars[at] !== ']') {
    const low = one()
    if (typeof low !== 'number') {
      tests.push(low)
      continue
    }
    let high = low
    if (chars[at] === '-' && chars[at + 1] !== ']') {
      at++
      const end = one()
      if (typeof end !== 'number' || end < low)
        throw fault('a range must go from a lower to a higher character')
      high = end
    }
    tests.push((point) => between(point, low, high))
  }
  if (tests.length === 0) throw fault('an empty class')
  const any = folded((point) => tests.some((test) => test(point)), ignoreCase)
  return { test: remembered(negated ? not(any) : any), next: at + 1 }
}
