import { describe, expect, it } from 'vitest'
import tis from '../../../plugins/corrections/tis.ts'
import { withSettings } from '../samples.ts'
import { valuesOf } from './rows.ts'

/** Ratios of the proximal policy to the sampler, token by token. */
const atWeights = (...weights: number[]) => ({
  proximal: weights.map((weight) => Math.log(weight) - 3),
  behaviour: weights.map(() => -3),
})

describe('tis', () => {
  const { weight, mask, metrics, loss } = withSettings(tis).correct!()

  it('gives weights and masks, and no loss', () => {
    expect(loss).toBeUndefined()
  })

  it('weighs by the ratio to the sampler, cut at 2 and not from below', () => {
    const weights = valuesOf(weight, atWeights(1, 0.5, 1.9, 4, 0.01))
    for (const [i, wanted] of [1, 0.5, 1.9, 2, 0.01].entries()) expect(weights[i]).toBeCloseTo(wanted, 9)
  })

  it('masks tokens whose sampler is unknown, or keeps them at weight 1 if told to', () => {
    const row = { ...atWeights(1, 0.5), known: [0, 1] }
    expect(valuesOf(mask, row)).toEqual([0, 1])
    const keeping = withSettings(tis, { unknown: 'keep' }).correct!()
    const unsure = { proximal: [-1, -1], behaviour: [Number.NaN, -1], known: [0, 1] }
    expect(valuesOf(keeping.mask, unsure)).toEqual([1, 1])
    expect(valuesOf(keeping.weight, unsure)).toEqual([1, 1])
  })

  it('drops the row for one impossible token, or the token, or nothing', () => {
    const row = atWeights(1, 0.00005, 1)
    expect(valuesOf(mask, row)).toEqual([0, 0, 0])
    expect(valuesOf(withSettings(tis, { veto: 'token' }).correct!().mask, row)).toEqual([1, 0, 1])
    expect(valuesOf(withSettings(tis, { veto: 'off' }).correct!().mask, row)).toEqual([1, 1, 1])
    expect(valuesOf(mask, atWeights(1, 0.0002, 1))).toEqual([1, 1, 1])
  })

  it('lets no token that does not count veto its row', () => {
    expect(valuesOf(mask, { ...atWeights(1, 0.00001), mask: [1, 0] })).toEqual([1, 1])
    expect(valuesOf(mask, { ...atWeights(1, 0.00001), known: [1, 0] })).toEqual([1, 0])
  })

  it('weighs a whole row by the product of its ratios at sequence level', () => {
    const { weight: sequence } = withSettings(tis, { level: 'sequence' }).correct!()
    for (const value of valuesOf(sequence, atWeights(0.5, 1.2, 0.9))) expect(value).toBeCloseTo(0.54, 9)
    for (const value of valuesOf(sequence, atWeights(2, 2, 1))) expect(value).toBe(2)
  })

  it('measures the mismatch', () => {
    const row = { ...atWeights(4, 0.4, 1), known: [1, 1, 0] }
    const rounded = (name: string): number[] =>
      valuesOf(metrics?.[name], row).map((v) => Math.round(v * 1e4) / 1e4)
    expect(rounded('known')).toEqual([1, 1, 0])
    expect(rounded('weight')).toEqual([4, 0.4, 0])
    expect(rounded('weight_squared')).toEqual([16, 0.16, 0])
    expect(rounded('truncated')).toEqual([1, 0, 0])
    expect(rounded('kl_k1')).toEqual([-1.3863, 0.9163, -0])
    expect(rounded('kl_k3')).toEqual([1.6137, 0.3163, 0])
    expect(rounded('vetoed')).toEqual([0, 0, 0])
  })

  it('stays finite however far apart the policies are', () => {
    for (const proximal of [-1e6, 1e6]) {
      const row = { proximal: [proximal], behaviour: [0] }
      for (const expression of [weight, mask, ...Object.values(metrics ?? {})])
        expect(Number.isFinite(valuesOf(expression, row)[0])).toBe(true)
    }
  })
})
