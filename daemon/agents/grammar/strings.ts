// JSON strings: any, of a length, of a pattern, of a format. Characters stand for themselves; escapes are written only
// where JSON needs them, and wherever any string is allowed.

import { invalid } from '../errors.ts'
import {
  call,
  characters,
  either,
  optional,
  type Part,
  type Rule,
  repeated,
  sequence,
  text,
} from './parts.ts'
import { type Range, regexOf } from './regex.ts'

const LAST = 0x10ffff
const MAX_LENGTH = 20_000
/** What stands for itself: all but control characters, quotes and backslashes. */
const PLAIN: Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, LAST],
]
const hex: Part = characters([
  [0x30, 0x39],
  [0x41, 0x46],
  [0x61, 0x66],
])
const ESCAPE = sequence(
  text('\\'),
  either(
    ...[...'"\\/bfnrt'].map((char) => text(char)),
    // Not the halves of characters: one alone would be none.
    sequence(
      text('u'),
      either(
        sequence(
          characters([
            [0x30, 0x39],
            [0x41, 0x43],
            [0x45, 0x46],
            [0x61, 0x63],
            [0x65, 0x66],
          ]),
          hex,
        ),
        sequence(
          characters([
            [0x44, 0x44],
            [0x64, 0x64],
          ]),
          characters([[0x30, 0x37]]),
        ),
      ),
      hex,
      hex,
    ),
  ),
)
/** One character of a string, in any form that JSON has for it. */
const CHARACTER: Rule = { part: () => either(characters(PLAIN), ESCAPE) }

const quoted = (inner: Part): Part => sequence(text('"'), inner, text('"'))

const ANY: Rule = { part: () => quoted(repeated(call(CHARACTER), 0, Number.POSITIVE_INFINITY)) }
export const anyString: Part = call(ANY)

export function stringOfLength(least: number, most: number): Part {
  if (least > MAX_LENGTH || (most > MAX_LENGTH && most !== Number.POSITIVE_INFINITY))
    throw invalid(`a string may be asked for with a length of up to ${MAX_LENGTH}`)
  return quoted(repeated(call(CHARACTER), least, most))
}

/** `where` names the place, for errors. */
export function stringOfPattern(source: string, where: string): Part {
  const anything = repeated(call(CHARACTER), 0, Number.POSITIVE_INFINITY)
  return quoted(
    either(
      ...regexOf(source, { character: inString, where }).map(({ part, isAnchored: { start, end } }) =>
        sequence(...(start ? [] : [anything]), part, ...(end ? [] : [anything])),
      ),
    ),
  )
}

/** Characters of these ranges as they are written in a string. */
function inString(ranges: readonly Range[]): Part {
  const parts: Part[] = []
  for (const [low, high] of ranges) {
    parts.push(characters(PLAIN.flatMap(([from, to]) => overlap(from, to, low, high))))
    for (const code of [0x22, 0x5c])
      if (low <= code && code <= high) parts.push(text(`\\${String.fromCharCode(code)}`))
    for (let code = low; code <= Math.min(high, 0x1f); code++)
      parts.push(text(JSON.stringify(String.fromCharCode(code)).slice(1, -1)))
  }
  return either(...parts)
}

function overlap(from: number, to: number, low: number, high: number): Range[] {
  const range: Range = [Math.max(from, low), Math.min(to, high)]
  return range[0] <= range[1] ? [range] : []
}

/** A month and a day that every year has. */
const DAY =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const DATE = `(?:\\d{4}-${DAY}|${LEAP_YEAR}-02-29)`
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)'
const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,40}[A-Za-z0-9])?'
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])'
/** What a path holds as it is; a query and a fragment hold question marks, too. */
const URL_TEXT = "A-Za-z0-9._~!$&'()*+,;=:@/-"
const PATH = `(?:[${URL_TEXT}]|%[0-9A-Fa-f]{2})*`
const QUERY = `(?:[?${URL_TEXT}]|%[0-9A-Fa-f]{2})*`
/** Some of what the format allows, and nothing else: no leap second, and of the URIs those of the web. */
const FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  ipv4: `${BYTE}(?:\\.${BYTE}){3}`,
  hostname: `${LABEL}(?:\\.${LABEL}){0,4}`,
  email: `[A-Za-z0-9_+-]{1,24}(?:\\.[A-Za-z0-9_+-]{1,24}){0,2}@${LABEL}(?:\\.${LABEL}){1,3}`,
  uri: `https?://${LABEL}(?:\\.${LABEL}){0,4}(?::${PORT})?(?:/${PATH})?(?:[?]${QUERY})?(?:#${QUERY})?`,
}

/** A string of a format; undefined if the format is not known: then it is a remark, as for validators. */
export function stringOfFormat(format: string): Part | undefined {
  if (!Object.hasOwn(FORMATS, format)) return undefined
  return stringOfPattern(`^(?:${FORMATS[format]})$`, format)
}

/** Any string but these. */
export function stringBut(names: readonly string[]): Part {
  const taken = [...new Set(names)].map((name) => [...name])
  const after = repeated(call(CHARACTER), 0, Number.POSITIVE_INFINITY)
  /** Strings that go on from `depth` characters which all of these begin with. */
  const rest = (all: readonly string[][], depth: number): Part => {
    const next = new Map<string, string[][]>()
    for (const name of all) {
      const char = name[depth]
      if (char !== undefined) next.set(char, [...(next.get(char) ?? []), name])
    }
    const codes = [...next.keys()].map((char) => char.codePointAt(0)!)
    const others = except(codes)
    const ways = [...next].map(([char, some]) => {
      const code = char.codePointAt(0)!
      return sequence(inString([[code, code]]), rest(some, depth + 1))
    })
    const isTaken = all.some((name) => name.length === depth)
    const different = sequence(inString(others), after)
    return isTaken ? either(different, ...ways) : optional(either(different, ...ways))
  }
  return quoted(rest(taken, 0))
}

function except(codes: readonly number[]): Range[] {
  const ranges: Range[] = []
  let from = 0
  for (const code of [...codes].sort((a, b) => a - b)) {
    if (code > from) ranges.push([from, code - 1])
    from = code + 1
  }
  return [...ranges, [from, LAST]]
}
