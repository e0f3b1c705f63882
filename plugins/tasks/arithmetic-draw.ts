// Draws integer expressions of given sizes for basic_arithmetic, so that every division in them is exact.

import { type Chain, evaluateItem, type Item, type Operator } from './arithmetic-tree.ts'
import { gcd } from './numbers.ts'
import type { Dice } from './random.ts'

export interface Level {
  terms: [number, number]
  digits: [number, number]
  operators: readonly Operator[]
  brackets: boolean
  negatives: boolean
  /** Fewest multiplications. */
  products: number
}

/** Never 0: adding or taking away nothing would pay for copying an operand. */
function operand(dice: Dice, level: Level): bigint {
  const digits = dice.between(...level.digits)
  const size = dice.between(10 ** (digits - 1), 10 ** digits - 1)
  return BigInt(level.negatives && dice.oneIn(4) ? -size : size)
}

function drawItem(dice: Dice, level: Level, terms: number): Item {
  if (terms === 1) return { value: operand(dice, level) }
  return { chain: drawChain(dice, level, terms), negated: level.negatives && dice.oneIn(4) }
}

/** A divisor of `value` that looks like an operand, or null if a few draws find none but 1. */
function drawDivisor(dice: Dice, level: Level, value: bigint): bigint | null {
  for (let i = 0; i < 20; i++) {
    const drawn = operand(dice, level)
    const divisor = gcd(value, drawn)
    if (divisor > 1n && String(divisor).length >= level.digits[0]) return drawn < 0n ? -divisor : divisor
  }
  return null
}

/** Left to right, knowing the running product, so that a division can be made exact as it is drawn. */
export function drawChain(dice: Dice, level: Level, terms: number): Chain {
  // The whole of a chain in one bracket would be a bracket around nothing, so the first item leaves a term over.
  const size = (left: number, most: number): number =>
    level.brackets && most > 1 && dice.oneIn(2) ? dice.between(2, Math.min(left, most)) : 1
  const first = size(terms, terms - 1)
  const chain: Chain = { items: [drawItem(dice, level, first)], operators: [] }
  let left = terms - first
  let product = evaluateItem(chain.items[0]!)
  while (left > 0) {
    let operator = dice.pick(level.operators)
    let item: Item | undefined
    if (operator === '/') {
      const divisor = drawDivisor(dice, level, product)
      if (divisor === null) operator = '*'
      else item = { value: divisor }
    }
    const taken = item ? 1 : size(left, left)
    item ??= drawItem(dice, level, taken)
    const value = evaluateItem(item)
    product = operator === '*' ? product * value : operator === '/' ? product / value : value
    chain.items.push(item)
    chain.operators.push(operator)
    left -= taken
  }
  return chain
}
