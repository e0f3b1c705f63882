import { describe, expect, it } from 'vitest'
import tis from '../../../plugins/corrections/tis.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
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

  it('can bound weights from below', () => {
    const { weight: clipped } = withSettings(tis, { floor: 0.5 }).correct!()
    for (const [i, value] of valuesOf(clipped, atWeights(1, 0.6, 0.4, 4)).entries())
      expect(value).toBeCloseTo([1, 0.6, 0.5, 2][i]!, 9)
    expect(() => withSettings(tis, { floor: 3 })).toThrow('floor must not be above cap')
  })

  it('can drop the row, or the token, for a ratio too large to believe', () => {
    const row = atWeights(1, 101, 3)
    expect(valuesOf(mask, row)).toEqual([1, 1, 1])
    expect(valuesOf(withSettings(tis, { vetoAbove: 100 }).correct!().mask, row)).toEqual([0, 0, 0])
    const token = withSettings(tis, { vetoAbove: 100, veto: 'token' }).correct!()
    expect(valuesOf(token.mask, row)).toEqual([1, 0, 1])
    expect(valuesOf(token.mask, { ...row, known: [1, 0, 1] })).toEqual([1, 0, 1])
  })

  it('can make the weights of a batch 1 on average, by tokens or by rows', async () => {
    // Ratios 4 (cut to 2), 0.5 and, where the environment wrote, 8; then 1; then an unknown sampler.
    const [first, second] = [
      rolloutOf(1, 3, {
        behaviourLogprobs: Float32Array.from([4, 0.5, 8], (w) => -1 - Math.log(w)),
        lossMask: Uint8Array.of(1, 1, 0),
      }),
      rolloutOf(0, 1, { behaviourLogprobs: Float32Array.of(-1) }),
    ]
    const groups = [groupOf([first, second, rolloutOf(0, 2)])]
    const scaleOf = async (given: object) => {
      const context = createScriptedContext({
        logprobs: ({ completion }) => Array.from(completion, () => -1),
      })
      const hooks = withSettings(tis, { normalise: true, ...given })
      return (await hooks.columns!([[0, 0, 0]], groups, context)).scale
    }
    expect(await scaleOf({})).toBeCloseTo(3 / 3.5, 5)
    expect(await scaleOf({ floor: 1 })).toBeCloseTo(3 / 4, 5)
    // The first row's product is 2, the second's 1.
    expect(await scaleOf({ level: 'sequence' })).toBeCloseTo(2 / 3, 5)
    const { weight: normalised, columns } = withSettings(tis, { normalise: true }).correct!()
    expect(columns).toEqual({ scale: 1 })
    const row = { ...atWeights(1, 4), 'tis.scale': [0.5, 0.5] }
    for (const [i, value] of valuesOf(normalised, row).entries()) expect(value).toBeCloseTo([0.5, 1][i]!, 9)
    expect(withSettings(tis).columns).toBeUndefined()
    expect(() => withSettings(tis, { normalise: true, proximal: 'approximate' })).toThrow('scoring pass')
  })

  it('divides by nothing where no sampler is known', async () => {
    const hooks = withSettings(tis, { normalise: true })
    expect(await hooks.columns!([[0]], [groupOf([rolloutOf(0, 2)])], createScriptedContext({}))).toEqual({
      scale: 1,
    })
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
