// Regular expressions as parts of a grammar: characters, classes, groups, alternatives and repetitions of ECMAScript.
// What looks at what stands around it (\b, look-ahead, back-references) is refused.

import { invalid } from '../errors.ts'
import { either, type Part, repeated, sequence } from './parts.ts'

export type Range = readonly [low: number, high: number]

interface RegexParts {
  /** One character of these ranges, as it is written where the expression stands. */
  character(ranges: readonly Range[]): Part
  /** The expression, for errors. */
  where: string
}

const LAST = 0x10ffff
const MAX_REPEATS = 1000
const DIGIT: Range[] = [[0x30, 0x39]]
const WORD: Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]
const SPACE: Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
]
const CLASSES: Readonly<Record<string, readonly Range[]>> = {
  ...{ d: DIGIT, w: WORD, s: SPACE },
  ...{ D: without(DIGIT), W: without(WORD), S: without(SPACE) },
}
/** All but the ends of lines. */
const DOT = without([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
])
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0 }

/** All characters that are not in these ranges. */
export function without(ranges: readonly Range[]): Range[] {
  const rest: Range[] = []
  let from = 0
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > from) rest.push([from, low - 1])
    from = Math.max(from, high + 1)
  }
  return from <= LAST ? [...rest, [from, LAST]] : rest
}

/** Where an expression begins and ends: at the ends of the text, or anywhere in it. */
export interface Regex {
  part: Part
  isAnchored: { start: boolean; end: boolean }
}

/** Alternatives at the top, each with its own anchors. Anchors within it are refused. */
export function regexOf(source: string, { character, where }: RegexParts): Regex[] {
  const scan = scanOf(source, where)
  const { take, refuse } = scan
  const repeats = (part: Part): Part => {
    const [least, most] = countsIn(scan)
    if (least === 1 && most === 1) return part
    take('?')
    if (/[*+?{]/.test(scan.char() ?? '')) refuse('a repetition of a repetition')
    return repeated(part, least, most)
  }
  const atom = (): Part => {
    if (take('(')) {
      if (take('?') && !take(':') && scan.match(/^<[A-Za-z_]\w*>/) === undefined)
        refuse('a look-around or a flag, which are not supported')
      const part = either(...alternatives())
      if (!take(')')) refuse('a group without its end')
      return part
    }
    if (take('[')) return character(setIn(scan))
    if (take('.')) return character(DOT)
    if (take('\\')) return character(escapedIn(scan))
    const char = scan.next()
    if (/[*+?]/.test(char)) refuse('a repetition of nothing')
    if (/[$^]/.test(char)) refuse('an anchor within it, which is not supported')
    return character(one(char.codePointAt(0)!))
  }
  const row = (): Part => {
    const parts: Part[] = []
    for (let char = scan.char(); char !== undefined && char !== '|' && char !== ')'; char = scan.char()) {
      if (scan.isEndAnchor()) break
      parts.push(repeats(atom()))
    }
    return sequence(...parts)
  }
  const alternatives = (): Part[] => {
    const all = [row()]
    while (take('|')) all.push(row())
    return all
  }

  const found: Regex[] = []
  do {
    const start = take('^')
    const part = row()
    found.push({ part, isAnchored: { start, end: take('$') } })
  } while (take('|'))
  if (scan.char() !== undefined) refuse('a bracket without its beginning')
  return found
}

interface Scan {
  /** The next character, which stays next. */
  char(): string | undefined
  next(): string
  /** Takes this text if it is next. */
  take(text: string): boolean
  /** Takes what matches, if it is next. */
  match(pattern: RegExp): RegExpExecArray | undefined
  isEndAnchor(): boolean
  refuse(what: string): never
}

/** Most characters that one match looks at. */
const REACH = 128

function scanOf(source: string, where: string): Scan {
  const chars = [...source]
  let at = 0
  const refuse = (what: string): never => {
    throw invalid(`the pattern ${JSON.stringify(source.slice(0, 80))} at ${where} has ${what}`)
  }
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    const found = pattern.exec(chars.slice(at, at + REACH).join(''))
    if (found) at += [...found[0]].length
    return found ?? undefined
  }
  return {
    char: () => chars[at],
    next: () => chars[at++] ?? refuse('no end'),
    take(text) {
      if (chars[at] !== text) return false
      at += 1
      return true
    },
    match,
    isEndAnchor: () => chars[at] === '$' && (chars[at + 1] ?? '|') === '|',
    refuse,
  }
}

/** How often what stands before is repeated; once if nothing says so. */
function countsIn({ take, match, refuse }: Scan): [number, number] {
  if (take('*')) return [0, Number.POSITIVE_INFINITY]
  if (take('+')) return [1, Number.POSITIVE_INFINITY]
  if (take('?')) return [0, 1]
  const [whole, least, comma, most] = match(/^\{(\d+)(,?)(\d*)\}/) ?? []
  if (whole === undefined) return [1, 1]
  const from = Number(least)
  const to = comma === '' ? from : most === '' ? Number.POSITIVE_INFINITY : Number(most)
  if (from > MAX_REPEATS || (to > MAX_REPEATS && to !== Number.POSITIVE_INFINITY) || to < from)
    refuse(`a repetition of other than 0 to ${MAX_REPEATS} times`)
  return [from, to]
}

/** After a backslash: a class, or one character. */
function escapedIn(scan: Scan): readonly Range[] {
  const { refuse } = scan
  const code = (pattern: RegExp): Range[] => {
    const [, digits] = scan.match(pattern) ?? refuse('an escape that is not complete')
    const found = Number.parseInt(digits!, 16)
    return found <= LAST ? one(found) : refuse('an escape that is no character')
  }
  const char = scan.next()
  if (Object.hasOwn(CLASSES, char)) return CLASSES[char]!
  if (Object.hasOwn(CONTROLS, char)) return one(CONTROLS[char]!)
  if (char === 'x') return code(/^([0-9a-f]{2})/i)
  if (char === 'u') return code(scan.char() === '{' ? /^\{([0-9a-f]{1,6})\}/i : /^([0-9a-f]{4})/i)
  if (/[a-zA-Z1-9]/.test(char)) refuse(`\\${char}, which is not supported`)
  return one(char.codePointAt(0)!)
}

/** Between square brackets. */
function setIn(scan: Scan): readonly Range[] {
  const { take, refuse } = scan
  const isNegated = take('^')
  const ranges: Range[] = []
  const item = (): readonly Range[] => {
    const char = scan.next()
    if (char !== '\\') return one(char.codePointAt(0)!)
    return take('b') ? one(8) : escapedIn(scan)
  }
  while (!take(']')) {
    const low = item()
    // Beside a class, "-" stands for itself.
    const isRange = low.length === 1 && scan.match(/^-(?!\])/) !== undefined
    const high = isRange ? item() : []
    if (!isRange) ranges.push(...low)
    else if (high.length > 1) ranges.push(...low, ...one(0x2d), ...high)
    else if (low[0]![0] > high[0]![1]) refuse('a range that is not one')
    else ranges.push([low[0]![0], high[0]![1]])
  }
  return isNegated ? without(ranges) : ranges
}

function one(code: number): Range[] {
  return [[code, code]]
}
