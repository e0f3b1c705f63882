// Quotients of polynomials in one variable with integer coefficients: the exact meaning of an expression. Operations
// use up a budget, so no expression costs more than a few milliseconds.

/** Coefficients, the constant first; no trailing zero; [] is 0. */
export type Polynomial = readonly bigint[]

export interface Quotient {
  top: Polynomial
  /** Never []. */
  bottom: Polynomial
}

export class TooLarge extends Error {}

/** Maximum number of coefficient multiplications. */
const BUDGET = 20_000
const MAX_DEGREE = 64
/** About 1024 bits. */
const MAX = 1n << 1024n

export interface Arithmetic {
  add(a: Quotient, b: Quotient): Quotient
  multiply(a: Quotient, b: Quotient): Quotient
  /** Null for a division by zero. */
  divide(a: Quotient, b: Quotient): Quotient | null
  same(a: Quotient, b: Quotient): boolean
}

export const constant = (top: bigint, bottom = 1n): Quotient => ({
  top: top === 0n ? [] : [top],
  bottom: [bottom],
})
export const VARIABLE: Quotient = { top: [0n, 1n], bottom: [1n] }

/** Arithmetic with its own budget; throws TooLarge if it is exceeded. */
export function arithmetic(): Arithmetic {
  let left = BUDGET
  const times = (a: Polynomial, b: Polynomial): Polynomial => {
    if (a.length === 0 || b.length === 0) return []
    left -= a.length * b.length
    if (left < 0 || a.length + b.length - 2 > MAX_DEGREE) throw new TooLarge()
    const product = new Array<bigint>(a.length + b.length - 1).fill(0n)
    for (const [i, x] of a.entries()) for (const [j, y] of b.entries()) product[i + j]! += x * y
    if (product.some((value) => value > MAX || value < -MAX)) throw new TooLarge()
    return product
  }
  const sum = (a: Polynomial, b: Polynomial): Polynomial => {
    const total = Array.from({ length: Math.max(a.length, b.length) }, (_, i) => (a[i] ?? 0n) + (b[i] ?? 0n))
    while (total.at(-1) === 0n) total.pop()
    return total
  }
  const equal = (a: Polynomial, b: Polynomial): boolean =>
    a.length === b.length && a.every((value, i) => value === b[i])
  return {
    // Keep a common denominator, so that sums of many fractions do not grow needlessly.
    add: (a, b) =>
      equal(a.bottom, b.bottom)
        ? { top: sum(a.top, b.top), bottom: a.bottom }
        : { top: sum(times(a.top, b.bottom), times(b.top, a.bottom)), bottom: times(a.bottom, b.bottom) },
    multiply: (a, b) => ({ top: times(a.top, b.top), bottom: times(a.bottom, b.bottom) }),
    divide: (a, b) =>
      b.top.length === 0 ? null : { top: times(a.top, b.bottom), bottom: times(a.bottom, b.top) },
    same: (a, b) => equal(times(a.top, b.bottom), times(b.top, a.bottom)),
  }
}
