// `'%s' % x` and `'{}'.format(x)`, with the parts of Python's format language that text needs. Others are refused.

import type { Budget } from './budget.ts'
import { floatText, repr, show } from './show.ts'
import { lengthOf } from './text.ts'
import { Dict, isNumber, Markup, Tuple, TypeErrorOf, typeName, Undefined, type Value } from './values.ts'

const WIDEST = 10_000

interface Spec {
  fill: string
  align: string | undefined
  sign: string
  isAlternate: boolean
  width: number
  grouping: string
  precision: number | undefined
  type: string
}

const PERCENT =
  /%(?:\((?<key>[^)]*)\))?(?<flags>[-+ 0#]*)(?<width>\d*)(?:\.(?<precision>\d*))?(?<type>[\s\S]?)/g

export function formatPercent(text: string, given: Value, budget: Budget): string {
  const many = given instanceof Tuple ? given.items : [given]
  let at = 0
  const next = (): Value => {
    if (at >= many.length) throw new TypeErrorOf('not enough arguments for format string')
    return many[at++]!
  }
  budget.reads(text)
  const result = text.replace(PERCENT, (...match) => {
    const { key, flags, width, precision, type } = match.at(-1) as Record<string, string>
    if (type === '%') return '%'
    const value = key === undefined ? next() : memberOf(given, key)
    const isLeft = flags!.includes('-')
    return formatted(
      value,
      {
        fill: flags!.includes('0') && !isLeft && !'sra'.includes(type!) ? '0' : ' ',
        align: isLeft ? '<' : flags!.includes('0') && !'sra'.includes(type!) ? '=' : '>',
        sign: flags!.includes('+') ? '+' : flags!.includes(' ') ? ' ' : '-',
        isAlternate: flags!.includes('#'),
        width: bounded(width || '0'),
        grouping: '',
        precision: precision === undefined ? undefined : bounded(precision || '0'),
        type: type === 'i' || type === 'u' ? 'd' : type!,
      },
      budget,
      true,
    )
  })
  if (
    at < many.length &&
    !(given instanceof Dict) &&
    !(at === 0 && !(given instanceof Tuple) && text.includes('%('))
  )
    throw new TypeErrorOf('not all arguments converted during string formatting')
  budget.writes(result.length)
  return result
}

function memberOf(given: Value, key: string): Value {
  if (!(given instanceof Dict)) throw new TypeErrorOf('format requires a mapping')
  const value = given.get(key)
  if (value === undefined) throw new TypeErrorOf(`no key ${JSON.stringify(key)} for the format`)
  return value
}

interface FormatParts {
  positional: readonly Value[]
  named: (name: string) => Value | undefined
  /** `x.name` and `x[key]` within a field. */
  member(value: Value, name: string, isItem: boolean): Value
  budget: Budget
}

const FIELD = /\{\{|\}\}|\{(?<name>[^{}!:]*)(?:!(?<convert>[rsa]))?(?::(?<spec>[^{}]*))?\}|[{}]/g

export function formatBraces(text: string, { positional, named, member, budget }: FormatParts): string {
  let at = 0
  budget.reads(text)
  const result = text.replace(FIELD, (...match) => {
    const whole = match[0] as string
    const { name, convert, spec = '' } = match.at(-1) as Record<string, string | undefined>
    if (whole === '{{' || whole === '}}') return whole[0]!
    if (name === undefined) throw new TypeErrorOf('a single brace in a format string')
    const [, first = '', path = ''] = /^([^.[]*)([\s\S]*)$/.exec(name)!
    let value =
      first === '' ? positional[at++] : /^\d+$/.test(first) ? positional[Number(first)] : named(first)
    if (value === undefined) throw new TypeErrorOf(`no argument {${first}} for the format`)
    for (const { 1: attribute, 2: item } of path.matchAll(/\.([^.[]+)|\[([^\]]+)\]/g))
      value = member(value, attribute ?? item!, attribute === undefined)
    if (convert === 's') value = show(value, budget)
    if (convert === 'r') value = repr(value, budget)
    if (convert === 'a') throw new TypeErrorOf('the conversion !a is not supported')
    return formatted(value, specOf(spec), budget, false)
  })
  budget.writes(result.length)
  return result
}

const SPEC = /^(?:([\s\S])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u

function specOf(text: string): Spec {
  const found = SPEC.exec(text)
  if (!found) throw new TypeErrorOf(`the format "${text}" is not supported`)
  const [, fill, align, sign = '-', alternate, zero, width = '0', grouping = '', precision, type = ''] = found
  return {
    fill: fill ?? (zero ? '0' : ' '),
    align: align ?? (zero ? '=' : undefined),
    sign,
    isAlternate: alternate !== undefined,
    width: bounded(width),
    grouping,
    precision: precision === undefined ? undefined : bounded(precision),
    type,
  }
}

function bounded(digits: string): number {
  const number = Number(digits)
  if (number > WIDEST) throw new TypeErrorOf(`a format with ${digits} characters`)
  return number
}

function formatted(value: Value, spec: Spec, budget: Budget, isPercent: boolean): string {
  const { type } = spec
  if (spec.isAlternate) throw new TypeErrorOf('the flag # of a format is not supported')
  if (isPercent && 'sr'.includes(type) && type !== '') {
    const text = type === 's' ? show(value, budget) : repr(value, budget)
    return padded(cut(text, spec.precision), spec, '>')
  }
  if (type === 'c' && isPercent && typeof value === 'string' && lengthOf(value) === 1)
    return padded(value, spec, '>')
  const hasSpec = spec.width > 0 || spec.align !== undefined || type !== '' || spec.precision !== undefined
  if (isNumber(value) && (typeof value !== 'boolean' || hasSpec)) {
    const { sign, digits } = numberText(typeof value === 'boolean' ? BigInt(value) : value, spec, isPercent)
    const shown = sign === '-' ? '-' : spec.sign === '-' ? '' : spec.sign
    if (spec.align !== '=') return padded(shown + digits, spec, '>')
    return shown + digits.padStart(spec.width - shown.length, spec.fill)
  }
  if (isPercent) throw new TypeErrorOf(`%${type} format: a number is required, not ${typeName(value)}`)
  const isText = typeof value === 'string' || value instanceof Markup || typeof value === 'boolean'
  if (value instanceof Undefined || (!isText && hasSpec) || !['', 's'].includes(type) || spec.align === '=')
    throw new TypeErrorOf(`unsupported format for an object of type '${typeName(value)}'`)
  return padded(cut(show(value, budget), spec.precision), spec, '<')
}

const cut = (text: string, most: number | undefined): string =>
  most === undefined ? text : [...text].slice(0, most).join('')

function padded(text: string, { fill, align, width }: Spec, defaultAlign: '<' | '>'): string {
  const missing = width - lengthOf(text)
  if (missing <= 0) return text
  const side = align ?? defaultAlign
  const left = side === '<' ? 0 : side === '^' ? Math.floor(missing / 2) : missing
  return fill.repeat(left) + text + fill.repeat(missing - left)
}

function numberText(
  value: number | bigint,
  { type, precision, grouping }: Spec,
  isPercent: boolean,
): { sign: string; digits: string } {
  const isNegative = value < 0 || Object.is(value, -0)
  const size = isNegative ? -value : value
  const sign = isNegative ? '-' : ''
  const bases: Record<string, number> = { d: 10, x: 16, X: 16, o: 8, b: 2 }
  const base = bases[type] ?? (type === '' && typeof value === 'bigint' ? 10 : undefined)
  if (base !== undefined) {
    if (typeof value !== 'bigint' && !isPercent) throw new TypeErrorOf(`format "${type}" needs an int`)
    const whole = typeof size === 'bigint' ? size : BigInt(Math.trunc(size))
    const digits = whole.toString(base)
    const filled = isPercent && precision !== undefined ? digits.padStart(precision, '0') : digits
    return {
      sign: whole === 0n ? '' : sign,
      digits: grouped(type === 'X' ? filled.toUpperCase() : filled, grouping),
    }
  }
  const number = Number(size)
  if (!Number.isFinite(number)) return { sign, digits: floatText(number) }
  const digits = floatDigits(number, type, precision)
  return { sign, digits: grouped(digits, grouping) }
}

function floatDigits(number: number, type: string, precision: number | undefined): string {
  switch (type) {
    case 'f':
    case 'F':
      return fixed(number, precision ?? 6)
    case '%':
      return `${fixed(number * 100, precision ?? 6)}%`
    case 'e':
    case 'E': {
      const text = exponential(number.toExponential(Math.min(precision ?? 6, 100)))
      return type === 'E' ? text.toUpperCase() : text
    }
    case 'g':
    case 'G':
      return general(number, precision ?? 6)
    case '':
      return precision === undefined ? floatText(number) : withPoint(general(number, precision))
    default:
      throw new TypeErrorOf(`the format "${type}" is not supported`)
  }
}

const withPoint = (text: string): string => (/[.e]/.test(text) ? text : `${text}.0`)

/** As many digits after the point; halves go to the even digit, as the number is exactly. */
export function fixed(number: number, digits: number): string {
  if (number >= 1e21) return `${BigInt(number)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`
  const most = Math.min(digits, 70)
  const up = number.toFixed(most)
  const exact = number.toFixed(Math.min(100, most + 30))
  const tail = exact.slice(exact.indexOf('.') + 1 + most)
  const isTie = /^50*$/.test(tail) && /[13579]$/.test(up)
  if (!isTie) return up + '0'.repeat(digits - most)
  const down = exact.slice(0, exact.indexOf('.') + (most > 0 ? 1 + most : 0))
  return /[02468]$/.test(down) ? down : up
}

function general(number: number, precision: number): string {
  const digits = Math.max(precision, 1)
  const text = number.toExponential(Math.min(digits, 100) - 1)
  const exponent = Number(text.split('e')[1])
  if (exponent < -4 || exponent >= digits) return exponential(text.replace(/\.?0+e/, 'e'))
  const plain = fixed(number, digits - 1 - exponent)
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain
}

const exponential = (text: string): string =>
  text.replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`)

function grouped(digits: string, mark: string): string {
  if (mark === '') return digits
  const [whole = '', ...rest] = digits.split('.')
  return [whole.replace(/\B(?=(\d{3})+$)/g, mark), ...rest].join('.')
}
