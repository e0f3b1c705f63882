// Parses and evaluates an expression in one pass, by recursive descent with limited depth.
//
//   sum     = ["+" | "-"] product { ("+" | "-") product }
//   product = power { ("*" | "/") signed power | power that begins with the variable or "(" }
//   power   = atom [ ("^" | "**") ["-"] power ]        the exponent must be an integer, at most 64
//   atom    = number | variable | "(" sum ")"
//
// 2x is 2*x; 1/2x is refused as ambiguous. So are 0^0 and division by zero.

import { type Arithmetic, constant, type Quotient, VARIABLE } from './polynomial.ts'
import { readDecimal } from './rational.ts'

const MAX_DEPTH = 32
const MAX_POWER = 64
const TOKEN = /\s*(?:([0-9]+(?:\.[0-9]+)?|\.[0-9]+)|([a-zA-Z])|(\*\*|[-+*/^()]))/y

/** Null if it is not an expression in this variable. Throws TooLarge if the arithmetic does. */
export function readExpression(text: string, variable: string, by: Arithmetic): Quotient | null {
  const tokens = tokensOf(text.replaceAll('\u00b7', '*').replaceAll('\u00d7', '*').replaceAll('\u00f7', '/'))
  if (tokens === null) return null
  let at = 0
  const minus = (value: Quotient): Quotient => by.multiply(constant(-1n), value)

  const sum = (depth: number): Quotient | null => {
    if (depth > MAX_DEPTH) return null
    const sign = tokens[at]
    if (sign === '+' || sign === '-') at++
    let total = product(depth)
    if (total && sign === '-') total = minus(total)
    while (total && (tokens[at] === '+' || tokens[at] === '-')) {
      const negative = tokens[at++] === '-'
      const next = product(depth)
      if (!next) return null
      total = by.add(total, negative ? minus(next) : next)
    }
    return total
  }
  const product = (depth: number): Quotient | null => {
    let value = power(depth)
    let divided = false
    while (value) {
      const token = tokens[at]
      if (token === '*' || token === '/') {
        at++
        const negative = tokens[at] === '-'
        if (negative) at++
        const next = power(depth)
        if (!next) return null
        value = token === '*' ? by.multiply(value, next) : by.divide(value, next)
        if (value && negative) value = minus(value)
        divided = token === '/'
      } else if (token === variable || token === '(') {
        if (divided) return null
        const next = power(depth)
        if (!next) return null
        value = by.multiply(value, next)
      } else break
    }
    return value
  }
  const power = (depth: number): Quotient | null => {
    const base = atom(depth)
    if (!base || (tokens[at] !== '^' && tokens[at] !== '**')) return base
    at++
    const negative = tokens[at] === '-'
    if (negative) at++
    // Right-associative: 2^3^2 is 2^9.
    const exponent = depth < MAX_DEPTH ? power(depth + 1) : null
    if (!exponent) return null
    const whole = wholeOf(exponent)
    if (whole === null || whole > MAX_POWER || whole < -MAX_POWER) return null
    return raise(base, negative ? -whole : whole)
  }
  const raise = (base: Quotient, exponent: number): Quotient | null => {
    if (base.top.length === 0 && exponent <= 0) return null
    let value = constant(1n)
    for (let i = 0; i < Math.abs(exponent); i++) value = by.multiply(value, base)
    return exponent < 0 ? by.divide(constant(1n), value) : value
  }
  const atom = (depth: number): Quotient | null => {
    const token = tokens[at++]
    if (token === undefined) return null
    if (token === variable) return VARIABLE
    if (token === '(') {
      const inner = sum(depth + 1)
      return inner && tokens[at++] === ')' ? inner : null
    }
    const number = /[0-9]/.test(token) ? readDecimal(token) : null
    return number && constant(number.top, number.bottom)
  }

  const value = sum(0)
  return value && at === tokens.length ? value : null
}

function tokensOf(text: string): string[] | null {
  const tokens: string[] = []
  let end = 0
  TOKEN.lastIndex = 0
  for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
    tokens.push((found[1] ?? found[2] ?? found[3])!)
    end = TOKEN.lastIndex
  }
  return text.slice(end).trim() === '' ? tokens : null
}

/** The value of a constant if it is an integer, else null. */
function wholeOf({ top, bottom }: Quotient): number | null {
  if (top.length > 1 || bottom.length > 1) return null
  const [a, b] = [top[0] ?? 0n, bottom[0]!]
  return a % b === 0n ? Number(a / b) : null
}
