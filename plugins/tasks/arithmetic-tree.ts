// Integer expressions as trees: printing, exact evaluation, and the working one operation at a time.
//
// A chain is items joined by operators; an item is an operand or a bracketed chain, which may be negated. Normal
// precedence, left to right. Only exact divisions exist (the generator sees to it), so nobody has to know which way
// a quotient rounds. BigInt throughout: six terms of four digits give keys of more than twenty digits.

import type { Line } from './steps.ts'

export type Operator = '+' | '-' | '*' | '/'

export interface Chain {
  items: Item[]
  /** One fewer than items; `operators[i]` stands before `items[i + 1]`. */
  operators: Operator[]
}

export type Item = { value: bigint } | { chain: Chain; negated: boolean }

export function printChain(chain: Chain): string {
  return chain.items
    .map((item, i) => (i === 0 ? '' : ` ${chain.operators[i - 1]} `) + printItem(item))
    .join('')
}

function printItem(item: Item): string {
  return 'value' in item ? String(item.value) : `${item.negated ? '-' : ''}( ${printChain(item.chain)} )`
}

export function apply(operator: Operator, a: bigint, b: bigint): bigint {
  if (operator === '+') return a + b
  if (operator === '-') return a - b
  if (operator === '*') return a * b
  if (b === 0n || a % b !== 0n) throw new RangeError(`${a} / ${b} is not exact`)
  return a / b
}

/** Brackets from the left, then * and /, then + and -; each operation is told to `onLine`. */
export function evaluateChain(chain: Chain, onLine: (line: Line) => void = () => {}): bigint {
  const values = chain.items.map((item) => evaluateItem(item, onLine))
  const operators = [...chain.operators]
  for (const tight of [true, false]) {
    let i = 0
    while (i < operators.length) {
      const operator = operators[i]!
      if (tight && operator !== '*' && operator !== '/') {
        i++
        continue
      }
      const [a, b] = [values[i]!, values[i + 1]!]
      const result = apply(operator, a, b)
      onLine({ text: `${a} ${operator} ${b} = ${result}`, value: String(result) })
      values.splice(i, 2, result)
      operators.splice(i, 1)
    }
  }
  return values[0]!
}

export function evaluateItem(item: Item, onLine: (line: Line) => void = () => {}): bigint {
  if ('value' in item) return item.value
  const inner = evaluateChain(item.chain, onLine)
  if (item.negated) onLine({ text: `-( ${inner} ) = ${-inner}`, value: String(-inner) })
  return item.negated ? -inner : inner
}
