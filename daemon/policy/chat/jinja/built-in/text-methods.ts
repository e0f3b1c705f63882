// Methods of Python's `str`, without `format`, which reads members of any value.

import type { Budget } from '../budget.ts'
import * as text from '../text.ts'
import { Callable, type Given, listOf, Tuple, TypeErrorOf, textOf, typeName, type Value } from '../values.ts'
import { bind, intIn, textIn } from './arguments.ts'

type Method = (self: string, given: Given, budget: Budget, name: string) => Value

export function textMethod(self: string, name: string, budget: Budget): Value | undefined {
  if (!Object.hasOwn(METHODS, name)) return undefined
  return new Callable(name, (given) => {
    budget.reads(self)
    const value = METHODS[name]!(self, given, budget, name)
    if (typeof value === 'string') budget.writes(value.length)
    return value
  })
}

const plain =
  (make: (self: string) => Value): Method =>
  (self, given, _, name) => {
    bind(name, [], given)
    return make(self)
  }

const stripping =
  (ends: 'both' | 'left' | 'right'): Method =>
  (self, given, _, name) => {
    const [chars] = bind(name, ['chars'], given)
    return text.strip(self, chars === undefined || chars === null ? undefined : textIn(name, chars), ends)
  }

/** True if there are characters and each of them matches. */
const every = (pattern: RegExp): Method => plain((self) => pattern.test(self))

const cased = (is: (self: string) => boolean): Method =>
  plain((self) => /[\p{Lu}\p{Ll}\p{Lt}]/u.test(self) && is(self))

const affix =
  (ends: (self: string, affix: string) => boolean): Method =>
  (self, given, budget, name) => {
    const [one, start, stop] = bind(name, [name.startsWith('s') ? 'prefix' : 'suffix', 'start', 'end'], given)
    const part = start === undefined && stop === undefined ? self : window(self, name, start, stop).join('')
    const many = one instanceof Tuple ? one.items : [one]
    return many.some((each) => {
      const wanted = textIn(name, each)
      budget.reads(wanted)
      return ends(part, wanted)
    })
  }

function window(self: string, what: string, start: Value | undefined, stop: Value | undefined): string[] {
  const parts = text.characters(self)
  return parts.slice(
    start === null ? 0 : intIn(what, start, 0),
    stop === null ? undefined : intIn(what, stop, parts.length),
  )
}

/** The place of a part, counted in characters; -1 if it is not there. */
function placeOf(self: string, given: Given, budget: Budget, what: string): number {
  const [sub, start, stop] = bind(what, ['sub', 'start', 'end'], given)
  const part = textIn(what, sub)
  budget.searches(self, part)
  const within = window(self, what, start, stop).join('')
  const at = what.startsWith('r') ? within.lastIndexOf(part) : within.indexOf(part)
  const from = intIn(what, start ?? 0n)
  const length = text.lengthOf(self)
  const before = from < 0 ? Math.max(0, from + length) : from
  return at < 0 || before > length ? -1 : before + text.lengthOf(within.slice(0, at))
}

const finding: Method = (self, given, budget, name) => BigInt(placeOf(self, given, budget, name))

const indexing: Method = (self, given, budget, name) => {
  const at = placeOf(self, given, budget, name)
  if (at < 0) throw new TypeErrorOf('substring not found')
  return BigInt(at)
}

const partitioning: Method = (self, given, budget, name) => {
  const [sep] = bind(name, ['sep'], given)
  const mark = textIn(name, sep)
  if (mark === '') throw new TypeErrorOf('empty separator')
  budget.searches(self, mark)
  const isLast = name === 'rpartition'
  const at = isLast ? self.lastIndexOf(mark) : self.indexOf(mark)
  if (at < 0) return new Tuple(isLast ? ['', '', self] : [self, '', ''])
  return new Tuple([self.slice(0, at), mark, self.slice(at + mark.length)])
}

const splitting: Method = (self, given, budget, name) => {
  const [sep, most] = bind(name, ['sep', 'maxsplit'], given)
  const limit = intIn(name, most, -1)
  const parts =
    sep === undefined || sep === null
      ? words(self, limit, name === 'rsplit')
      : divide(self, { mark: textIn(name, sep), limit, isLast: name === 'rsplit' }, budget)
  budget.makes(parts.length)
  budget.reads(self)
  return parts
}

function divide(
  self: string,
  { mark, limit, isLast }: { mark: string; limit: number; isLast: boolean },
  budget: Budget,
): string[] {
  if (mark === '') throw new TypeErrorOf('empty separator')
  budget.searches(self, mark)
  if (limit === 0) return [self]
  if (!isLast) {
    const parts = self.split(mark)
    if (limit < 0 || parts.length <= limit + 1) return parts
    return [...parts.slice(0, limit), parts.slice(limit).join(mark)]
  }
  // From the right: matches that overlap are others than from the left.
  const parts: string[] = []
  let end = self.length
  while (limit < 0 || parts.length < limit) {
    const at = end < mark.length ? -1 : self.lastIndexOf(mark, end - mark.length)
    if (at < 0) break
    parts.unshift(self.slice(at + mark.length, end))
    end = at
  }
  return [self.slice(0, end), ...parts]
}

/** Split at runs of white space, at most `limit` times, with what is left as it is. */
function words(self: string, limit: number, isLast: boolean): string[] {
  const found = [...self.matchAll(WORD)]
  if (limit < 0 || found.length <= limit) return found.map(({ 0: word }) => word)
  if (isLast) {
    const kept = limit === 0 ? [] : found.slice(-limit)
    const rest = text.rstrip(self.slice(0, kept[0]?.index ?? self.length))
    return [rest, ...kept.map(({ 0: word }) => word)].filter((part, i) => i > 0 || part !== '')
  }
  const rest = self.slice(found[limit]!.index)
  return [
    ...found.slice(0, limit).map(({ 0: word }) => word),
    limit === 0 ? text.strip(rest, undefined, 'left') : rest,
  ]
}

const WORD = new RegExp(`[^${text.SPACE}]+`, 'gu')

const padding =
  (side: 'left' | 'right' | 'both'): Method =>
  (self, given, budget, name) => {
    const [width, fill] = bind(name, ['width', 'fillchar'], given)
    return pad(self, { width: intIn(name, width), fill: textIn(name, fill, ' '), side }, budget)
  }

export function pad(
  self: string,
  { width, fill, side }: { width: number; fill: string; side: 'left' | 'right' | 'both' },
  budget: Budget,
): string {
  const missing = width - text.lengthOf(self)
  if (text.lengthOf(fill) !== 1)
    throw new TypeErrorOf('the fill character must be exactly one character long')
  if (missing <= 0) return self
  budget.writes(width)
  // As in Python, of an odd number the extra place is on the left if the width is odd.
  const left =
    side === 'left' ? missing : side === 'right' ? 0 : Math.floor(missing / 2) + (missing & width & 1)
  return fill.repeat(left) + self + fill.repeat(missing - left)
}

const replacing: Method = (self, given, budget, name) => {
  const [old, by, count] = bind(name, ['old', 'new', 'count'], given)
  return replace(
    self,
    { old: textIn(name, old), by: textIn(name, by), count: intIn(name, count, -1) },
    budget,
  )
}

export function replace(
  self: string,
  { old, by, count }: { old: string; by: string; count: number },
  budget: Budget,
): string {
  budget.searches(self, old)
  // At most: as if each place that may match did.
  const places = old === '' ? self.length + 1 : self.split(old).length - 1
  budget.writes(self.length + places * by.length)
  return text.replaceText(self, old, by, count < 0 ? undefined : count)
}

const joining: Method = (self, given, budget, name) => {
  const [many] = bind(name, ['iterable'], given)
  if (many === undefined) throw new TypeErrorOf('join needs an argument')
  const texts = listOf(many, budget).map((one, i) => {
    const each = textOf(one)
    if (each === undefined)
      throw new TypeErrorOf(`sequence item ${i}: expected str instance, ${typeName(one)} found`)
    return each
  })
  budget.writes(texts.reduce((sum, { length }) => sum + length + self.length, 0))
  return texts.join(self)
}

const DIGITS =
  '\\p{Nd}\\u{b2}\\u{b3}\\u{b9}\\u{1369}-\\u{1371}\\u{19da}\\u{2070}\\u{2074}-\\u{2079}\\u{2080}-\\u{2089}\\u{2460}-\\u{2468}\\u{2474}-\\u{247c}\\u{2488}-\\u{2490}\\u{24ea}\\u{24f5}-\\u{24fd}\\u{24ff}\\u{2776}-\\u{277e}\\u{2780}-\\u{2788}\\u{278a}-\\u{2792}\\u{10a40}-\\u{10a43}\\u{10e60}-\\u{10e68}\\u{11052}-\\u{1105a}\\u{1f100}-\\u{1f10a}'

const METHODS: Record<string, Method> = {
  capitalize: plain(text.capitalize),
  casefold: plain((self) => self.toLowerCase().replaceAll('ß', 'ss')),
  center: padding('both'),
  count(self, given, budget, name) {
    const [sub, start, stop] = bind(name, ['sub', 'start', 'end'], given)
    const part = textIn(name, sub)
    budget.searches(self, part)
    const within = window(self, name, start, stop)
    return BigInt(part === '' ? within.length + 1 : within.join('').split(part).length - 1)
  },
  endswith: affix((self, part) => self.endsWith(part)),
  expandtabs(self, given, budget, name) {
    const [size] = bind(name, ['tabsize'], given)
    const width = intIn(name, size, 8)
    budget.writes(self.length * Math.max(1, width))
    let column = 0
    return self.replace(/[^\t\n\r]+|[\t\n\r]/gu, (part) => {
      if (part !== '\t') {
        column = part === '\n' || part === '\r' ? 0 : column + text.lengthOf(part)
        return part
      }
      const spaces = width > 0 ? width - (column % width) : 0
      column += spaces
      return ' '.repeat(spaces)
    })
  },
  find: finding,
  index: indexing,
  isalnum: every(new RegExp(`^[\\p{L}\\p{N}${DIGITS}]+$`, 'u')),
  isalpha: every(/^\p{L}+$/u),
  isascii: plain((self) => /^[\x00-\x7f]*$/.test(self)),
  isdecimal: every(/^\p{Nd}+$/u),
  isdigit: every(new RegExp(`^[${DIGITS}]+$`, 'u')),
  isidentifier: plain(text.isIdentifier),
  islower: cased((self) => self === self.toLowerCase() && self !== self.toUpperCase()),
  isspace: every(new RegExp(`^[${text.SPACE}]+$`, 'u')),
  istitle: cased((self) => self === text.titled(self)),
  isupper: cased((self) => self === self.toUpperCase() && self !== self.toLowerCase()),
  join: joining,
  ljust: padding('right'),
  lower: plain((self) => self.toLowerCase()),
  lstrip: stripping('left'),
  partition: partitioning,
  removeprefix(self, given, _, name) {
    const part = textIn(name, bind(name, ['prefix'], given)[0])
    return self.startsWith(part) ? self.slice(part.length) : self
  },
  removesuffix(self, given, _, name) {
    const part = textIn(name, bind(name, ['suffix'], given)[0])
    return part !== '' && self.endsWith(part) ? self.slice(0, -part.length) : self
  },
  replace: replacing,
  rfind: finding,
  rindex: indexing,
  rjust: padding('left'),
  rpartition: partitioning,
  rsplit: splitting,
  rstrip: stripping('right'),
  split: splitting,
  splitlines(self, given, budget, name) {
    const [keep] = bind(name, ['keepends'], given)
    const lines = text.splitLines(self, keep !== undefined && keep !== false && keep !== 0n)
    budget.makes(lines.length)
    return lines
  },
  startswith: affix((self, part) => self.startsWith(part)),
  strip: stripping('both'),
  swapcase: plain(text.swapCase),
  title: plain(text.titled),
  upper: plain((self) => self.toUpperCase()),
  zfill(self, given, budget, name) {
    const width = intIn(name, bind(name, ['width'], given)[0])
    const [, sign = '', digits = ''] = /^([+-]?)([\s\S]*)$/.exec(self)!
    budget.writes(Math.max(width, 0))
    return sign + '0'.repeat(Math.max(0, width - text.lengthOf(self))) + digits
  },
}
