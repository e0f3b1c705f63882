// Exact decimal numbers, as integer multiples of 10^-places: reading, printing, rounding, and drawing operands.
//
// A quotient exists only if it terminates within MAX_QUOTIENT_PLACES; the generator draws no others. Rounding is to a
// number of significant digits, with halves away from zero.

import { gcd, MAX_NUMBER_CHARS, withoutCommas } from '../numbers.ts'
import type { Dice } from '../random.ts'
import type { Item, Numbers } from './expression-tree.ts'

export interface Decimal {
  units: bigint
  places: number
}

const MAX_QUOTIENT_PLACES = 12

const ten = (power: number): bigint => 10n ** BigInt(power)
const size = (value: bigint): bigint => (value < 0n ? -value : value)

function trimmed({ units, places }: Decimal): Decimal {
  let [u, p] = [units, places]
  while (p > 0 && u % 10n === 0n) [u, p] = [u / 10n, p - 1]
  return { units: u, places: p }
}

/** The exact quotient if it has at most MAX_QUOTIENT_PLACES, else null. */
export function quotient(a: Decimal, b: Decimal): Decimal | null {
  if (b.units === 0n) return null
  const scaled = a.units * ten(b.places + MAX_QUOTIENT_PLACES)
  const divisor = b.units * ten(a.places)
  return scaled % divisor === 0n ? trimmed({ units: scaled / divisor, places: MAX_QUOTIENT_PLACES }) : null
}

/** Both values in units of the finer one's last place, and its number of places. */
function aligned(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const places = Math.max(a.places, b.places)
  return [a.units * ten(places - a.places), b.units * ten(places - b.places), places]
}

export const DECIMALS: Numbers<Decimal> = {
  apply(operator, a, b) {
    if (operator === '*') return trimmed({ units: a.units * b.units, places: a.places + b.places })
    if (operator === '/') {
      const result = quotient(a, b)
      if (!result) throw new RangeError(`${printDecimal(a)} / ${printDecimal(b)} has no end`)
      return result
    }
    const [x, y, places] = aligned(a, b)
    return trimmed({ units: operator === '+' ? x + y : x - y, places })
  },
  negate: ({ units, places }) => ({ units: -units, places }),
  print: printDecimal,
}

export function printDecimal({ units, places }: Decimal): string {
  const digits = String(size(units)).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  return `${units < 0n ? '-' : ''}${whole}${places > 0 ? `.${digits.slice(-places)}` : ''}`
}

/** Plain decimal text, with thousands commas in the right places; null for anything else. */
export function readDecimal(text: string): Decimal | null {
  if (text.length > MAX_NUMBER_CHARS) return null
  const match = /^([+-]?)([0-9,]*)(?:\.([0-9]*))?$/.exec(text)
  if (!match) return null
  const [, sign, commas = '', fraction = ''] = match
  const whole = withoutCommas(commas)
  if (whole === null) return null
  const digits = whole + fraction
  if (digits === '') return null
  const units = BigInt(digits)
  return { units: sign === '-' ? -units : units, places: fraction.length }
}

/** The decimal exponent of the value's last significant digit. */
function lastDigit(value: Decimal, significant: number): number {
  return String(size(value.units)).length - value.places - significant
}

export function roundTo(value: Decimal, significant: number): Decimal {
  const drop = lastDigit(value, significant) + value.places
  if (drop <= 0 || value.units === 0n) return trimmed(value)
  const unit = ten(drop)
  const rounded = (2n * size(value.units) + unit) / (2n * unit)
  const units =
    (value.units < 0n ? -rounded : rounded) * (drop > value.places ? ten(drop - value.places) : 1n)
  return trimmed({ units, places: Math.max(value.places - drop, 0) })
}

/** True iff `answer` lies within half a unit of the exact value's last significant digit. */
export function agrees(answer: Decimal, exact: Decimal, significant: number): boolean {
  const [a, e, places] = aligned(answer, exact)
  if (a === e) return true
  const power = lastDigit(exact, significant) + places
  return e !== 0n && power >= 0 && 2n * size(a - e) <= ten(power)
}

/** A positive number below 10 with this many places, shown with all of them. */
export function drawDecimal(dice: Dice, [least, most]: [number, number]): Item<Decimal> {
  const places = dice.between(least, most)
  const value = { units: BigInt(dice.between(1, 10 ** (places + 1) - 1)), places }
  return { value, shown: printDecimal(value) }
}

/** An operand with a terminating quotient, or null if a few draws find none. */
export function drawDecimalDivisor(
  dice: Dice,
  places: [number, number],
  value: Decimal,
): Item<Decimal> | null {
  for (let i = 0; i < 20; i++) {
    const item = drawDecimal(dice, places) as { value: Decimal; shown: string }
    // Dividing by a common factor of the digits makes terminating quotients ten times as likely.
    const common = gcd(value.units, item.value.units)
    const divisor = { units: common > 1n ? common : item.value.units, places: item.value.places }
    if (divisor.units !== ten(divisor.places) && quotient(value, divisor) !== null)
      return { value: divisor, shown: printDecimal(divisor) }
  }
  return null
}
