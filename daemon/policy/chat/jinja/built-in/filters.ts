// Filters of single values and of text. Left out, and so refused by name: those that draw at random, that make HTML,
// or that no chat template has a use for.

import type { Engine, Filter } from '../engine.ts'
import { fixed, formatPercent } from '../format.ts'
import { dump } from '../json.ts'
import { escapeHtml, length } from '../operators.ts'
import { show } from '../show.ts'
import * as text from '../text.ts'
import {
  Dict,
  DictView,
  isNumber,
  isTrue,
  Markup,
  Tuple,
  TypeErrorOf,
  textOf,
  typeName,
  Undefined,
  type Value,
} from '../values.ts'
import { bind, intIn, textIn } from './arguments.ts'
import { LIST_FILTERS } from './list-filters.ts'
import { pad, replace } from './text-methods.ts'

/** A filter that makes text of text. What is safe as HTML stays so. */
function ofText(
  names: readonly string[],
  make: (self: string, values: (Value | undefined)[], engine: Engine, name: string) => string,
): Filter {
  return (value, given, engine, name) => {
    const { budget } = engine
    const self = show(value, budget)
    budget.reads(self)
    const made = make(self, bind(name, names, given), engine, name)
    budget.writes(made.length)
    return value instanceof Markup ? new Markup(made) : made
  }
}

const fallback: Filter = (value, given, _, name) => {
  const [otherwise = '', whenFalse = false] = bind(name, ['default_value', 'boolean'], given)
  return value instanceof Undefined || (isTrue(whenFalse) && !isTrue(value)) ? otherwise : value
}

const toJson: Filter = (value, given, { budget }, name) => {
  const [ensureAscii = false, indent = null, separators = null, sortKeys = false] = bind(
    name,
    ['ensure_ascii', 'indent', 'separators', 'sort_keys'],
    given,
  )
  const marks = separators === null ? undefined : separators instanceof Tuple ? separators.items : separators
  if (marks !== undefined && (!Array.isArray(marks) || marks.length !== 2))
    throw new TypeErrorOf('separators of tojson must be two texts')
  const unit =
    indent === null ? undefined : (textOf(indent) ?? ' '.repeat(Math.max(0, spaces(intIn(name, indent)))))
  const [item, key] = marks?.map((mark) => textIn(name, mark)) ?? [unit === undefined ? ', ' : ',', ': ']
  return dump(
    value,
    { ensureAscii: isTrue(ensureAscii), indent: unit, separators: [item!, key!], sortKeys: isTrue(sortKeys) },
    budget,
  )
}

function spaces(count: number): number {
  if (count > 100) throw new TypeErrorOf(`an indentation by ${count} spaces`)
  return count
}

const toInt: Filter = (value, given, { budget }, name) => {
  const [otherwise = 0n, base = 10n] = bind(name, ['default', 'base'], given)
  if (value instanceof Undefined) throw new TypeErrorOf(value.reason)
  if (typeof value === 'bigint' || typeof value === 'boolean') return BigInt(value)
  if (typeof value === 'number') return Number.isFinite(value) ? BigInt(Math.trunc(value)) : otherwise
  const given_ = textOf(value)
  if (given_ === undefined) return otherwise
  budget.reads(given_)
  const self = text.strip(given_, undefined, 'both')
  const radix = intIn(name, base)
  if (![2, 8, 10, 16].includes(radix)) throw new TypeErrorOf(`int with base ${radix} is not supported`)
  const prefixes: Record<number, string> = { 2: '0b', 8: '0o', 16: '0x' }
  const [, sign = '', digits = ''] = /^([+-]?)([\s\S]*)$/.exec(self)!
  const bare = digits
    .replace(/(?<=[\da-f])_(?=[\da-f])/gi, '')
    .replace(new RegExp(`^${prefixes[radix] ?? '$.'}`, 'i'), '')
  const patterns: Record<number, RegExp> = { 2: /^[01]+$/, 8: /^[0-7]+$/, 10: /^\d+$/, 16: /^[\da-f]+$/i }
  if (bare.length <= 1000 && patterns[radix]!.test(bare)) {
    const number = BigInt(`${prefixes[radix] ?? ''}${bare}`)
    return sign === '-' ? -number : number
  }
  const float = floatOf(self)
  return float !== undefined && Number.isFinite(float) ? BigInt(Math.trunc(float)) : otherwise
}

function floatOf(self: string): number | undefined {
  const trimmed = text.strip(self, undefined, 'both').replace(/(?<=\d)_(?=\d)/g, '')
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(trimmed)) return Number(trimmed)
  const word = /^([+-]?)(?:(inf(?:inity)?)|nan)$/i.exec(trimmed)
  if (!word) return undefined
  return word[2] === undefined ? Number.NaN : word[1] === '-' ? -Infinity : Infinity
}

const toFloat: Filter = (value, given, { budget }, name) => {
  const [otherwise = 0] = bind(name, ['default'], given)
  if (value instanceof Undefined) throw new TypeErrorOf(value.reason)
  if (isNumber(value)) return Number(value)
  const self = textOf(value)
  if (self === undefined) return otherwise
  budget.reads(self)
  return floatOf(self) ?? otherwise
}

const rounding: Filter = (value, given, _, name) => {
  const [precision, method = 'common'] = bind(name, ['precision', 'method'], given)
  const digits = intIn(name, precision, 0)
  if (!isNumber(value)) throw new TypeErrorOf(`round needs a number, not ${typeName(value)}`)
  if (method !== 'common' && method !== 'ceil' && method !== 'floor')
    throw new TypeErrorOf('method must be common, ceil or floor')
  if (Math.abs(digits) > 60) throw new TypeErrorOf(`round to ${digits} digits`)
  if (method === 'common') {
    if (typeof value !== 'number') {
      if (digits >= 0) return BigInt(value)
      throw new TypeErrorOf('round of an int to tens is not supported')
    }
    if (digits < 0) throw new TypeErrorOf('round of a float to tens is not supported')
    return value < 0 ? -Number(fixed(-value, digits)) : Number(fixed(value, digits))
  }
  const scale = 10 ** digits
  return (method === 'ceil' ? Math.ceil : Math.floor)(Number(value) * scale) / scale
}

const size: Filter = (value, given, { budget }, name) => {
  bind(name, [], given)
  return length(value, budget)
}

const absolute: Filter = (value, given, _, name) => {
  bind(name, [], given)
  if (!isNumber(value)) throw new TypeErrorOf(`bad operand type for abs(): '${typeName(value)}'`)
  const number = typeof value === 'boolean' ? BigInt(value) : value
  return number < 0 ? -number : typeof number === 'number' ? Math.abs(number) : number
}

const markup =
  (make: (self: string) => string): Filter =>
  (value, given, { budget }, name) => {
    bind(name, [], given)
    if (value instanceof Markup) return value
    const self = show(value, budget)
    budget.writes(self.length * 5)
    return new Markup(make(self))
  }

function indented(self: string, [width, first, blank]: (Value | undefined)[]): string {
  const unit = textOf(width) ?? ' '.repeat(spaces(intIn('indent', width, 4)))
  const lines = text.splitLines(`${self}\n`)
  const rest = lines.slice(1).map((line) => (line === '' && !isTrue(blank ?? false) ? line : unit + line))
  const all = [lines[0] ?? '', ...rest].join('\n')
  return isTrue(first ?? false) ? unit + all : all
}

function truncated(self: string, [most, kill, mark, slack]: (Value | undefined)[]): string {
  const [limit, end, leeway] = [
    intIn('truncate', most, 255),
    textIn('truncate', mark, '...'),
    intIn('truncate', slack, 5),
  ]
  const parts = text.characters(self)
  const room = limit - text.lengthOf(end)
  if (room < 0) throw new TypeErrorOf(`truncate to fewer characters than "${end}" has`)
  if (leeway < 0) throw new TypeErrorOf('truncate with a leeway below zero')
  if (parts.length <= limit + leeway) return self
  const cut = parts.slice(0, room).join('')
  if (isTrue(kill ?? false)) return cut + end
  const space = cut.lastIndexOf(' ')
  return (space < 0 ? cut : cut.slice(0, space)) + end
}

const TITLE = /([-\s({[<]+)/
const title = (self: string): string =>
  self
    .split(TITLE)
    .map((part) => {
      const [first = '', ...rest] = text.characters(part)
      return first.toUpperCase() + rest.join('').toLowerCase()
    })
    .join('')

const urlEncoded = (self: string): string =>
  encodeURIComponent(self.toWellFormed())
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/')

const urlEncode: Filter = (value, given, engine, name) => {
  if (value instanceof Dict || value instanceof DictView || Array.isArray(value) || value instanceof Tuple)
    throw new TypeErrorOf('urlencode of a list or a dict is not supported')
  return ofText([], urlEncoded)(value, given, engine, name)
}

export const FILTERS: Record<string, Filter> = {
  ...LIST_FILTERS,
  abs: absolute,
  capitalize: ofText([], text.capitalize),
  center: ofText(['width'], (self, [width], { budget }) =>
    pad(self, { width: intIn('center', width, 80), fill: ' ', side: 'both' }, budget),
  ),
  count: size,
  d: fallback,
  default: fallback,
  e: markup(escapeHtml),
  escape: markup(escapeHtml),
  float: toFloat,
  format(value, { positional, named }, { budget }) {
    if (named.size > 0 && positional.length > 0) throw new TypeErrorOf('format takes either kind of argument')
    const values = named.size > 0 ? new Dict(named) : new Tuple(positional)
    return formatPercent(show(value, budget), values, budget)
  },
  indent: ofText(['width', 'first', 'blank'], (self, values, { budget }) => {
    budget.writes(self.length * 2)
    return indented(self, values)
  }),
  int: toInt,
  length: size,
  lower: ofText([], (self) => self.toLowerCase()),
  replace: ofText(['old', 'new', 'count'], (self, [old, by, count], { budget }) => {
    const most = count === undefined || count === null ? -1 : intIn('replace', count)
    return replace(
      self,
      { old: show(old ?? null, budget), by: show(by ?? null, budget), count: most },
      budget,
    )
  }),
  round: rounding,
  safe: markup((self) => self),
  string: ofText([], (self) => self),
  title: ofText([], title),
  tojson: toJson,
  trim: ofText(['chars'], (self, [chars]) =>
    text.strip(self, chars === undefined || chars === null ? undefined : textIn('trim', chars), 'both'),
  ),
  truncate: ofText(['length', 'killwords', 'end', 'leeway'], truncated),
  upper: ofText([], (self) => self.toUpperCase()),
  urlencode: urlEncode,
  wordcount: (value, given, { budget }, name) => {
    bind(name, [], given)
    const self = show(value, budget)
    budget.reads(self)
    return BigInt(self.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)
  },
}
