// Tests how far a token's or row's sampler is from this policy, for `rejection` and `prime_rl`.
//
// With d = log policy - log sampler, a test measures the ratio e^d, or one of two divergences that grow in
// both directions: k2 = d^2 / 2 and k3 = e^d - 1 - d. `of` says what is tested and dropped: each token by
// itself, the whole row by the sum over its tokens (for ratios, the product) or by their mean (for ratios,
// the geometric mean), or the whole row as soon as any of its tokens fails (`any`).

import { z } from 'zod'
import {
  add,
  type Expression,
  greater,
  less,
  max,
  mul,
  not,
  ratio,
  rowMean,
  rowSum,
  sub,
} from '../../protocol/plugin/expression/expression.ts'

export const testSetting = z
  .strictObject({
    measure: z.enum(['ratio', 'k2', 'k3']).default('ratio'),
    of: z.enum(['token', 'sum', 'mean', 'any']).default('token'),
    /** For ratios only. */
    low: z.number().nonnegative().default(0),
    high: z.number().positive(),
  })
  .refine(({ low, high }) => low < high, { message: 'low must be below high' })
  .refine(({ measure, low }) => measure === 'ratio' || low === 0, {
    message: 'low applies to ratios only: k2 and k3 grow in both directions',
  })
type RejectionTest = z.output<typeof testSetting>

/** PRIME-RL's tests at the end of 2025. */
export const PRIME_RL_TESTS: z.input<typeof testSetting>[] = [
  { of: 'token', low: 0.125, high: 8 },
  { of: 'mean', low: 0.1, high: 10 },
  { of: 'any', high: 100 },
]

/** 1 where a test drops the token. `gap` is d, or 0 where it is unknown; `known` is 1 where it is known. */
export function rejectedBy(
  { measure, of, low, high }: RejectionTest,
  gap: Expression,
  known: Expression,
): Expression {
  if (measure !== 'ratio') {
    const token = measure === 'k2' ? mul(0.5, mul(gap, gap)) : sub(add(ratio(gap, 0), -1), gap)
    if (of === 'any') return greater(rowSum(greater(token, high)), 0)
    return greater(of === 'token' ? token : of === 'sum' ? rowSum(token) : rowMean(token, known), high)
  }
  const outside = (d: Expression): Expression => max(less(ratio(d, 0), low), greater(ratio(d, 0), high))
  if (of === 'any') return greater(rowSum(mul(known, outside(gap))), 0)
  return outside(of === 'token' ? gap : of === 'sum' ? rowSum(gap) : rowMean(gap, known))
}

/** 1 where the token passes all tests. */
export function keptBy(tests: readonly RejectionTest[], gap: Expression, known: Expression): Expression {
  return tests.reduce<Expression>((kept, test) => mul(kept, not(rejectedBy(test, gap, known))), 1)
}
