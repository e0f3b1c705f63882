// Python's operators.

import type { Budget } from './budget.ts'
import { formatPercent } from './format.ts'
import { compareTexts, lengthOf } from './text.ts'
import {
  Dict,
  DictView,
  Generator,
  isNumber,
  iterate,
  Markup,
  Range,
  sizeOf,
  Tuple,
  TypeErrorOf,
  textOf,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

/** Bits of an int. Arithmetic with a few thousand takes no time; nobody counts so far. */
const MAX_BITS = 4096n

export function binary(operator: string, left: Value, right: Value, budget: Budget): Value {
  budget.step()
  for (const one of [left, right]) if (one instanceof Undefined) throw new TypeErrorOf(one.reason)
  if (isNumber(left) && isNumber(right)) return arithmetic(operator, number(left), number(right))
  const text = textOf(left)
  if (operator === '%' && text !== undefined) return formatPercent(text, right, budget)
  if (operator === '+') {
    const sum = add(left, right, budget)
    if (sum !== undefined) return sum
  }
  if (operator === '*') {
    const many = isInt(right)
      ? repeat(left, right, budget)
      : isInt(left)
        ? repeat(right, left, budget)
        : undefined
    if (many !== undefined) return many
  }
  throw new TypeErrorOf(
    `unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
  )
}

const isInt = (value: Value): value is bigint | boolean =>
  typeof value === 'bigint' || typeof value === 'boolean'
const number = (value: number | bigint | boolean): number | bigint =>
  typeof value === 'boolean' ? BigInt(value) : value

function add(left: Value, right: Value, budget: Budget): Value | undefined {
  const [a, b] = [textOf(left), textOf(right)]
  if (a !== undefined && b !== undefined) {
    budget.writes(a.length + b.length)
    if (!(left instanceof Markup) && !(right instanceof Markup)) return a + b
    return new Markup(
      (left instanceof Markup ? a : escapeHtml(a)) + (right instanceof Markup ? b : escapeHtml(b)),
    )
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    budget.makes(left.length + right.length)
    return left.concat(right)
  }
  if (!(left instanceof Tuple) || !(right instanceof Tuple)) return undefined
  budget.makes(left.items.length + right.items.length)
  return new Tuple(left.items.concat(right.items))
}

export function escapeHtml(text: string): string {
  const codes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', "'": '&#39;', '"': '&#34;' }
  return text.replace(/[&<>'"]/g, (one) => codes[one]!)
}

function repeat(value: Value, times: bigint | boolean, budget: Budget): Value | undefined {
  const count = BigInt(times) > 0n ? Number(times) : 0
  const text = textOf(value)
  if (text !== undefined) {
    budget.writes(text.length * count)
    const many = text.repeat(count)
    return value instanceof Markup ? new Markup(many) : many
  }
  const items = Array.isArray(value) ? value : value instanceof Tuple ? value.items : undefined
  if (!items) return undefined
  budget.makes(items.length * count)
  const many = Array.from({ length: items.length * count }, (_, i) => items[i % items.length]!)
  return value instanceof Tuple ? new Tuple(many) : many
}

function arithmetic(operator: string, left: number | bigint, right: number | bigint): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') return whole(operator, left, right)
  const [a, b] = [Number(left), Number(right)]
  if (b === 0 && ['/', '//', '%'].includes(operator)) throw new TypeErrorOf('division by zero')
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '//':
      return Math.floor(a / b)
    case '%': {
      const rest = a % b
      return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest === 0 ? (b < 0 ? -0 : 0) : rest
    }
    default:
      if (a === 0 && b < 0) throw new TypeErrorOf('0.0 cannot be raised to a negative power')
      if (a < 0 && !Number.isInteger(b)) throw new TypeErrorOf('it computes a complex number')
      // In Python, 1 to any power is 1.
      return a === 1 ? 1 : a ** b
  }
}

function whole(operator: string, a: bigint, b: bigint): Value {
  if (b === 0n && ['/', '//', '%'].includes(operator)) throw new TypeErrorOf('division by zero')
  switch (operator) {
    case '+':
      return bounded(a + b)
    case '-':
      return bounded(a - b)
    case '*':
      return bounded(a * b)
    case '/':
      return Number(a) / Number(b)
    case '//':
      return a / b - (a % b !== 0n && a < 0n !== b < 0n ? 1n : 0n)
    case '%': {
      const rest = a % b
      return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest
    }
    default:
      if (b < 0n) return arithmetic('**', Number(a), Number(b))
      if (a !== 0n && a !== 1n && a !== -1n && bitsOf(a) * b > MAX_BITS) throw tooLarge()
      return bounded(a ** b)
  }
}

const bitsOf = (value: bigint): bigint => BigInt(value.toString(16).length * 4)
const tooLarge = (): Error => new TypeErrorOf(`it computes with numbers of more than ${MAX_BITS} bits`)

function bounded(value: bigint): bigint {
  const most = 1n << MAX_BITS
  if (value >= most || value <= -most) throw tooLarge()
  return value
}

export function negative(value: Value): Value {
  if (value instanceof Undefined) throw new TypeErrorOf(value.reason)
  if (!isNumber(value)) throw new TypeErrorOf(`bad operand type for unary -: '${typeName(value)}'`)
  return -number(value)
}

export function isEqual(left: Value, right: Value, budget: Budget): boolean {
  budget.step()
  if (left === right) return true
  if (isNumber(left) && isNumber(right)) return order(left, right, '==', budget) === 0
  const [a, b] = [textOf(left), textOf(right)]
  if (a !== undefined || b !== undefined) {
    if (a === undefined || b === undefined || a.length !== b.length) return false
    budget.reads(a, b)
    return a === b
  }
  if (left instanceof Undefined) return right instanceof Undefined
  if (left instanceof Range && right instanceof Range)
    return isEqual([...iterate(left, budget)], [...iterate(right, budget)], budget)
  return budget.nested(() => areEqual(left, right, budget))
}

function areEqual(left: Value, right: Value, budget: Budget): boolean {
  if (Array.isArray(left) && Array.isArray(right)) return allEqual(left, right, budget)
  if (left instanceof Tuple && right instanceof Tuple) return allEqual(left.items, right.items, budget)
  if (!(left instanceof Dict) || !(right instanceof Dict) || left.size !== right.size) return false
  for (const [key, value] of left.entries()) {
    const other = right.get(key)
    if (other === undefined || !isEqual(value, other, budget)) return false
  }
  return true
}

function allEqual(left: readonly Value[], right: readonly Value[], budget: Budget): boolean {
  return left.length === right.length && left.every((one, i) => isEqual(one, right[i]!, budget))
}

export function compare(operator: string, left: Value, right: Value, budget: Budget): boolean {
  switch (operator) {
    case '==':
      return isEqual(left, right, budget)
    case '!=':
      return !isEqual(left, right, budget)
    case 'in':
      return contains(right, left, budget)
    case 'not in':
      return !contains(right, left, budget)
    case '<':
      return order(left, right, '<', budget) < 0
    case '<=':
      return order(left, right, '<=', budget) <= 0
    case '>':
      return order(left, right, '>', budget) > 0
    default:
      return order(left, right, '>=', budget) >= 0
  }
}

/** Below zero if `left` comes first; NaN if neither does. Throws for values that have no order. */
export function order(left: Value, right: Value, operator: string, budget: Budget): number {
  budget.step()
  for (const one of [left, right]) if (one instanceof Undefined) throw new TypeErrorOf(one.reason)
  if (isNumber(left) && isNumber(right)) {
    const [a, b] = [number(left), number(right)]
    // An int and a float are compared by their exact values. NaN has no order.
    return a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN
  }
  const [a, b] = [textOf(left), textOf(right)]
  if (a !== undefined && b !== undefined) {
    budget.reads(a, b)
    return compareTexts(a, b)
  }
  const [many, others] = [itemsOf(left), itemsOf(right)]
  if (many && others && Array.isArray(left) === Array.isArray(right)) {
    return budget.nested(() => {
      for (const [i, one] of many.entries()) {
        if (i >= others.length) return 1
        if (!isEqual(one, others[i]!, budget)) return order(one, others[i]!, operator, budget)
      }
      return many.length - others.length
    })
  }
  throw new TypeErrorOf(
    `'${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`,
  )
}

function itemsOf(value: Value): readonly Value[] | undefined {
  return Array.isArray(value) ? value : value instanceof Tuple ? value.items : undefined
}

export function contains(many: Value, one: Value, budget: Budget): boolean {
  const text = textOf(many)
  if (text !== undefined) {
    const part = textOf(one)
    if (part === undefined) {
      if (one instanceof Undefined) throw new TypeErrorOf(one.reason)
      throw new TypeErrorOf(`'in <string>' requires string as left operand, not ${typeName(one)}`)
    }
    budget.searches(text, part)
    return text.includes(part)
  }
  if (many instanceof Dict) return many.has(one)
  if (many instanceof DictView && many.kind === 'keys') return many.dict.has(one)
  if (sizeOf(many) === undefined && !(many instanceof Generator))
    throw new TypeErrorOf(`argument of type '${typeName(many)}' is not iterable`)
  for (const item of iterate(many, budget)) if (isEqual(item, one, budget)) return true
  return false
}

export function concat(texts: readonly string[], budget: Budget): string {
  budget.writes(texts.reduce((sum, { length }) => sum + length, 0))
  return texts.join('')
}

export function length(value: Value, budget: Budget): bigint {
  const text = textOf(value)
  if (text !== undefined) {
    budget.reads(text)
    return BigInt(lengthOf(text))
  }
  const size = sizeOf(value)
  if (size === undefined) throw new TypeErrorOf(`object of type '${typeName(value)}' has no len()`)
  return BigInt(size)
}
