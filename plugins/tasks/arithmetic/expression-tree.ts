// Expressions as trees over any kind of number: drawing, printing, exact evaluation, one operation per line.
//
// A chain is a list of items joined by operators; an item is an operand or a bracketed chain, which may be negated.
// Precedence is the usual one, left to right. The printed tree is the one that is evaluated. Divisions are drawn only
// where the quotient is exact, so no rounding rule is needed.

import type { Dice } from '../random.ts'
import type { Line } from '../steps.ts'

export type Operator = '+' | '-' | '*' | '/'

export interface Numbers<V> {
  /** Exact; throws if a division is not. */
  apply(operator: Operator, a: V, b: V): V
  negate(value: V): V
  print(value: V): string
}

export interface Chain<V> {
  items: Item<V>[]
  /** One fewer than items; `operators[i]` stands before `items[i + 1]`. */
  operators: Operator[]
}

/** `shown` is how the question prints an operand, if that differs from the working. */
export type Item<V> = { value: V; shown?: string } | { chain: Chain<V>; negated: boolean }

export function printChain<V>(numbers: Numbers<V>, chain: Chain<V>): string {
  return chain.items
    .map((item, i) => (i === 0 ? '' : ` ${chain.operators[i - 1]} `) + printItem(numbers, item))
    .join('')
}

function printItem<V>(numbers: Numbers<V>, item: Item<V>): string {
  if ('value' in item) return item.shown ?? numbers.print(item.value)
  return `${item.negated ? '-' : ''}( ${printChain(numbers, item.chain)} )`
}

/** Brackets from the left, then * and /, then + and -; `onLine` receives each operation. */
export function evaluateChain<V>(
  numbers: Numbers<V>,
  chain: Chain<V>,
  onLine: (line: Line) => void = () => {},
): V {
  const values = chain.items.map((item) => evaluateItem(numbers, item, onLine))
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
      const result = numbers.apply(operator, a, b)
      const value = numbers.print(result)
      onLine({ text: `${numbers.print(a)} ${operator} ${numbers.print(b)} = ${value}`, value })
      values.splice(i, 2, result)
      operators.splice(i, 1)
    }
  }
  return values[0]!
}

function evaluateItem<V>(numbers: Numbers<V>, item: Item<V>, onLine: (line: Line) => void = () => {}): V {
  if ('value' in item) return item.value
  const inner = evaluateChain(numbers, item.chain, onLine)
  if (!item.negated) return inner
  const value = numbers.print(numbers.negate(inner))
  onLine({ text: `-( ${numbers.print(inner)} ) = ${value}`, value })
  return numbers.negate(inner)
}

export interface Shape<V> {
  numbers: Numbers<V>
  operators: readonly Operator[]
  brackets: boolean
  /** Whether brackets may be negated. */
  negatives: boolean
  operand(dice: Dice): Item<V>
  /** An operand that divides the value exactly, or null if a few draws find none. */
  divisor(dice: Dice, value: V): Item<V> | null
}

function drawItem<V>(dice: Dice, shape: Shape<V>, terms: number): Item<V> {
  if (terms === 1) return shape.operand(dice)
  return { chain: drawChain(dice, shape, terms), negated: shape.negatives && dice.oneIn(4) }
}

/** Draws from left to right and tracks the running product, so that each division can be made exact when drawn. */
export function drawChain<V>(dice: Dice, shape: Shape<V>, terms: number): Chain<V> {
  const { numbers } = shape
  // A bracket around the whole chain would be pointless, so the first item leaves at least one term outside.
  const size = (left: number, most: number): number =>
    shape.brackets && most > 1 && dice.oneIn(2) ? dice.between(2, Math.min(left, most)) : 1
  const first = size(terms, terms - 1)
  const chain: Chain<V> = { items: [drawItem(dice, shape, first)], operators: [] }
  let left = terms - first
  let product = evaluateItem(numbers, chain.items[0]!)
  while (left > 0) {
    let operator = dice.pick(shape.operators)
    let item: Item<V> | null = null
    if (operator === '/') {
      item = shape.divisor(dice, product)
      if (item === null) operator = '*'
    }
    const taken = item ? 1 : size(left, left)
    item ??= drawItem(dice, shape, taken)
    const value = evaluateItem(numbers, item)
    product = operator === '*' || operator === '/' ? numbers.apply(operator, product, value) : value
    chain.items.push(item)
    chain.operators.push(operator)
    left -= taken
  }
  return chain
}
