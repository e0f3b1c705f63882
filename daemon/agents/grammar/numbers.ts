// JSON numbers: any, whole ones, and those within bounds.

import { characters, either, never, optional, type Part, repeated, sequence, text } from './parts.ts'

/** Most digits before the point, and after it. More than a double keeps: numbers stay as they are written. */
const MAX_DIGITS = 32
/** Most digits of a number that is compared with a bound and has a fraction: as many as a double keeps. */
const MAX_COMPARED = 15
const digits = (least: number, most: number): Part => repeated(digit('0', '9'), least, most)
const digit = (low: string, high: string): Part => characters([[low.charCodeAt(0), high.charCodeAt(0)]])

const whole = either(text('0'), sequence(digit('1', '9'), digits(0, MAX_DIGITS - 1)))
const fraction = sequence(text('.'), digits(1, MAX_DIGITS))
const exponent = sequence(either(text('e'), text('E')), optional(either(text('+'), text('-'))), digits(1, 2))

/** An upper or a lower bound: a decimal number, which may itself be excluded. */
export interface Bound {
  value: number
  isExcluded: boolean
}

export interface Bounds {
  isWhole: boolean
  from?: Bound | undefined
  to?: Bound | undefined
}

export function number({ isWhole, from, to }: Bounds): Part {
  if (!from && !to)
    return sequence(optional(text('-')), whole, ...(isWhole ? [] : [optional(fraction), optional(exponent)]))
  const isAtMost = (bound: Bound | undefined, value: number): boolean =>
    !bound || bound.value < value || (bound.value === value && !bound.isExcluded)
  const least: Bound = { value: 0, isExcluded: false }
  const parts: Part[] = []
  // Numbers of either sign are those of a range of sizes.
  if (!to || to.value >= 0)
    parts.push(sizes({ isWhole, from: from && from.value > 0 ? from : least, to }, isAtMost(from, 0)))
  if (!from || from.value < 0)
    parts.push(
      sequence(
        text('-'),
        sizes(
          { isWhole, from: to && to.value < 0 ? negative(to) : least, to: from && negative(from) },
          false,
        ),
      ),
    )
  return either(...parts)
}

const negative = ({ value, isExcluded }: Bound): Bound => ({ value: -value, isExcluded })

/** A decimal number without sign: digits before the point and after it. */
interface Decimal {
  before: string
  after: string
}

function decimalOf(value: number): Decimal {
  // Exact for values that are written with up to 15 digits on either side.
  const [before, after = ''] = (Number.isInteger(value) ? BigInt(value).toString() : plain(value)).split('.')
  return { before: before!, after }
}

function plain(value: number): string {
  const [mantissa, power] = String(value).split('e')
  if (power === undefined) return mantissa!
  return value.toFixed(Math.min(100, -Number(power) + mantissa!.length))
}

/** Sizes from a bound up to another, or to any. Zero only where `withZero`, or where the range begins above it. */
function sizes(
  { isWhole, from, to }: { isWhole: boolean; from: Bound; to?: Bound | undefined },
  withZero: boolean,
): Part {
  if (to && to.value < from.value) return never
  const low = decimalOf(from.value)
  const high = to && decimalOf(to.value)
  const shortest = low.before.length
  const excludesLow = from.isExcluded || (from.value === 0 && !withZero)
  const parts: Part[] = []
  for (let length = shortest; length <= (high ?? low).before.length; length++)
    parts.push(
      ofLength(length, {
        isWhole,
        ...(length === shortest ? { low, excludesLow } : {}),
        ...(high && length === high.before.length ? { high, excludesHigh: to.isExcluded } : {}),
      }),
    )
  // Above all numbers that have as many digits as the lower bound.
  if (!high && shortest < MAX_DIGITS)
    parts.push(
      sequence(digit('1', '9'), digits(shortest, MAX_DIGITS - 1), ...(isWhole ? [] : [optional(fraction)])),
    )
  return either(...parts)
}

interface Range {
  isWhole: boolean
  low?: Decimal
  excludesLow?: boolean
  high?: Decimal
  excludesHigh?: boolean
}

/**
 * Numbers with so many digits before the point, digit by digit: as long as the digits are those of a bound, the next one
 * is limited by it.
 */
function ofLength(length: number, { isWhole, low, excludesLow, high, excludesHigh }: Range): Part {
  const digitsOf = ({ before, after }: Decimal): string =>
    isWhole ? before : before + after.padEnd(MAX_COMPARED, '0')
  const [lows, highs] = [low && digitsOf(low), high && digitsOf(high)]
  // Numbers of so many digits are told apart by a double, so none is rounded to a bound that is excluded.
  const most = isWhole ? length : Math.max(length, MAX_COMPARED)
  /** A whole number may not be a bound that has more digits after the point: it is below such a lower bound. */
  const hasRest = (one: Decimal | undefined): boolean => one !== undefined && /[1-9]/.test(one.after)
  return (build, from, to) => {
    const known = new Map<string, number>()
    const stateOf = (at: number, isLow: boolean, isHigh: boolean): number => {
      const key = `${at},${isLow},${isHigh}`
      let state = known.get(key)
      if (state === undefined) {
        state = build.state()
        known.set(key, state)
        grow(state, at, isLow, isHigh)
      }
      return state
    }
    const mayEnd = (at: number, isLow: boolean, isHigh: boolean): boolean => {
      // The digits that are not written are zeros.
      const restOf = (all: string): string => all.slice(at).replace(/0+$/, '')
      if (isLow && (restOf(lows!) !== '' || (isWhole && hasRest(low)) || excludesLow)) return false
      return !(isHigh && restOf(highs!) === '' && excludesHigh && !(isWhole && hasRest(high)))
    }
    const grow = (state: number, at: number, isLow: boolean, isHigh: boolean): void => {
      if (at >= length && mayEnd(at, isLow, isHigh)) build.empty(state, to)
      if (at >= most) return
      let here = state
      if (at === length) {
        here = build.state()
        text('.')(build, state, here)
      }
      const smallest = isLow ? Number(lows![at]) : at === 0 && length > 1 ? 1 : 0
      const largest = isHigh ? Number(highs![at]) : 9
      for (let one = smallest; one <= largest; one++)
        text(String(one))(
          build,
          here,
          stateOf(at + 1, isLow && one === Number(lows![at]), isHigh && one === Number(highs![at])),
        )
    }
    build.empty(from, stateOf(0, lows !== undefined, highs !== undefined))
  }
}
