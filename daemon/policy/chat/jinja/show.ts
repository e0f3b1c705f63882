// Values as text, as Python's `str` and `repr` write them.

import type { Budget } from './budget.ts'
import {
  Dict,
  DictView,
  Generator,
  Markup,
  Namespace,
  Range,
  Tuple,
  TypeErrorOf,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

export function show(value: Value, budget: Budget): string {
  if (typeof value === 'string') return value
  if (value instanceof Markup) return value.text
  if (value instanceof Undefined) return ''
  return repr(value, budget)
}

export function repr(value: Value, budget: Budget): string {
  return budget.nested(() => {
    budget.step()
    if (value === null) return 'None'
    if (typeof value === 'boolean') return value ? 'True' : 'False'
    if (typeof value === 'bigint') return value.toString()
    if (typeof value === 'number') return floatText(value)
    if (typeof value === 'string') return quoted(value, budget)
    if (value instanceof Markup) return `Markup(${quoted(value.text, budget)})`
    if (value instanceof Undefined) return 'Undefined'
    return reprOfMany(value, budget)
  })
}

function reprOfMany(value: object, budget: Budget): string {
  const all = (items: Iterable<Value>): string => {
    const parts: string[] = []
    let length = 0
    for (const item of items) {
      const text = repr(item, budget)
      length += text.length + 2
      parts.push(text)
    }
    budget.writes(length)
    return parts.join(', ')
  }
  const pairs = (dict: Dict): string => {
    const parts: string[] = []
    for (const [key, one] of dict.entries()) parts.push(`${repr(key, budget)}: ${repr(one, budget)}`)
    budget.writes(parts.reduce((sum, { length }) => sum + length + 2, 0))
    return `{${parts.join(', ')}}`
  }
  if (Array.isArray(value)) return `[${all(value)}]`
  if (value instanceof Tuple) return `(${all(value.items)}${value.items.length === 1 ? ',' : ''})`
  if (value instanceof Dict) return pairs(value)
  if (value instanceof DictView) return `dict_${value.kind}([${all(value)}])`
  if (value instanceof Namespace) return `<Namespace ${pairs(value.members)}>`
  if (value instanceof Range) {
    const { start, stop, step } = value
    return `range(${[start, stop, ...(step === 1n ? [] : [step])].join(', ')})`
  }
  if (value instanceof Generator)
    throw new TypeErrorOf('it writes a generator as text; `| list` makes a list of it')
  throw new TypeErrorOf(`it writes a ${typeName(value as Value)} as text`)
}

export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [digits = '', power = '0'] = Math.abs(value).toExponential().split('e')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16)
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  const plain = Number.isInteger(value) ? `${BigInt(Math.abs(value))}.0` : String(Math.abs(value))
  return sign + plain
}

const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }
const NOT_PRINTED = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

function quoted(text: string, budget: Budget): string {
  budget.writes(text.length)
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(NOT_PRINTED, (one) => {
    const code = one.codePointAt(0)!
    const hex = code.toString(16)
    if (ESCAPES[one]) return ESCAPES[one]
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
}
