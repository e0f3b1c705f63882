// Integer operands of drawn expressions. They are BigInts, since six four-digit terms give keys of over twenty digits.

import { gcd } from '../numbers.ts'
import type { Dice } from '../random.ts'
import type { Numbers } from './expression-tree.ts'

export const INTEGERS: Numbers<bigint> = {
  apply(operator, a, b) {
    if (operator === '+') return a + b
    if (operator === '-') return a - b
    if (operator === '*') return a * b
    if (b === 0n || a % b !== 0n) throw new RangeError(`${a} / ${b} is not exact`)
    return a / b
  },
  negate: (value) => -value,
  print: String,
}

export interface Sizes {
  digits: [number, number]
  negatives: boolean
}

/** Never 0: adding or subtracting 0 would make copying an operand right. */
export function drawInteger(dice: Dice, { digits: [least, most], negatives }: Sizes): bigint {
  const digits = dice.between(least, most)
  const size = dice.between(10 ** (digits - 1), 10 ** digits - 1)
  return BigInt(negatives && dice.oneIn(4) ? -size : size)
}

/** A divisor of `value` of the operands' size, or null if a few draws find none but 1. */
export function drawDivisor(dice: Dice, sizes: Sizes, value: bigint): bigint | null {
  for (let i = 0; i < 20; i++) {
    const drawn = drawInteger(dice, sizes)
    const divisor = gcd(value, drawn)
    if (divisor > 1n && String(divisor).length >= sizes.digits[0]) return drawn < 0n ? -divisor : divisor
  }
  return null
}
