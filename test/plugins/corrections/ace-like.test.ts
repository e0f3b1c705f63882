import { expect, it } from 'vitest'
import aceLike from '../../../plugins/corrections/ace-like.ts'
import { withSettings } from '../samples.ts'
import { valuesOf } from './rows.ts'

const weightOf = (shift: number, advantage: number, given: Record<string, unknown> = {}): number[] =>
  valuesOf(withSettings(aceLike, given).correct!().weight, {
    // Two tokens that share the shift.
    logprob: [-1 + shift / 2, -1 + shift / 2],
    reference: [-1, -1],
    advantage: [advantage, advantage],
  })

it('weighs wrong answers by how much likelier training has made the whole answer', () => {
  // 1 + softplus(c): softplus(2) = 2.126928, softplus(0) = 0.693147, softplus(-2) = 0.126928.
  for (const [shift, weight] of [
    [2, 3.126928],
    [0, 1.693147],
    [-2, 1.126928],
  ] as const)
    for (const value of weightOf(shift, -0.5)) expect(value).toBeCloseTo(weight, 6)
})

it('leaves right answers as they are', () => {
  expect(weightOf(4, 1)).toEqual([1, 1])
  expect(weightOf(-4, 0)).toEqual([1, 1])
})

it('bounds the shift, whatever the length of the answer', () => {
  expect(weightOf(400, -1)).toEqual(weightOf(5, -1))
  expect(weightOf(400, -1, { limit: 2, strength: 0.5 })[0]).toBeCloseTo(1 + 0.5 * 2.126928, 6)
})
