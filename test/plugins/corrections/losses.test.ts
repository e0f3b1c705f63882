import { describe, expect, it } from 'vitest'
import { LOSSES } from '../../../plugins/corrections/index.ts'
import cispo from '../../../plugins/corrections/losses/cispo.ts'
import clip from '../../../plugins/corrections/losses/clip.ts'
import gmpo from '../../../plugins/corrections/losses/gmpo.ts'
import gspo from '../../../plugins/corrections/losses/gspo.ts'
import dppo from '../../../plugins/corrections/losses/probability/dppo.ts'
import ipo from '../../../plugins/corrections/losses/probability/ipo.ts'
import rec from '../../../plugins/corrections/losses/rec.ts'
import reinforce from '../../../plugins/corrections/losses/reinforce.ts'
import softAdaptive from '../../../plugins/corrections/losses/soft-adaptive.ts'
import topr from '../../../plugins/corrections/losses/topr.ts'
import vespo from '../../../plugins/corrections/losses/vespo.ts'
import { columnsOf } from '../../../protocol/plugin/expression/expression.ts'
import { gradient } from '../../../protocol/plugin/expression/gradient.ts'
import type { Plugin } from '../../../protocol/plugin/index.ts'
import { withSettings } from '../samples.ts'
import { atRatio, type Columns, rowOf, slopesOf, valuesOf } from './rows.ts'

const lossOf = <S>(plugin: Plugin<S>, given: Record<string, unknown> = {}) =>
  withSettings(plugin, given).correct!().loss
/** The slope of a one-token row's loss in the token's log-prob. */
const pull = <S>(
  plugin: Plugin<S>,
  ratio: number,
  advantage: number,
  given: Record<string, unknown> = {},
): number => slopesOf(lossOf(plugin, given), atRatio(ratio, advantage))[0]!

describe.each(LOSSES.map((plugin) => [plugin.name, plugin] as const))('%s as a loss', (_, plugin) => {
  const correction = withSettings(plugin).correct!()

  it('pulls by the advantage on-policy, up for good tokens and down for bad ones', () => {
    // Where every ratio is 1, all of them are REINFORCE.
    for (const advantage of [2, -1.5]) {
      const row = { logprob: [-1, -2, -0.5], advantage: [advantage, advantage, advantage] }
      for (const slope of slopesOf(correction.loss, row)) expect(slope).toBeCloseTo(-advantage, 4)
    }
  })

  it('has the gradient that differences show', () => {
    for (const advantage of [0.8, -1.5]) {
      const row = rowOf({
        logprob: [-1, -2, -0.3, -4],
        proximal: [-1.1, -1.7, -0.31, -3.2],
        behaviour: [-1.4, -1.6, -0.5, -2.9],
        advantage: [advantage, advantage, advantage, advantage],
        known: [1, 1, 0, 1],
        mask: [1, 1, 1, 0],
      })
      const wanted = slopesOf(correction.loss, row)
      gradient(correction.loss!, row).forEach((slope, i) => {
        expect(slope).toBeCloseTo(wanted[i]!, 5)
      })
    }
  })

  it('asks nothing of tokens without an advantage, but to stay', () => {
    for (const slope of slopesOf(correction.loss, { logprob: [-1, -2], advantage: [0, 0] }))
      expect(slope).toBeCloseTo(0, 6)
  })

  it('stays finite however far apart the policies are', () => {
    for (const gap of [-1e3, 1e3])
      for (const advantage of [1, -1]) {
        const row = { logprob: [-1, -1], proximal: [-1 - gap, -1], advantage: [advantage, advantage] }
        for (const expression of [correction.loss!, ...Object.values(correction.metrics ?? {})])
          for (const value of valuesOf(expression, row)) expect(Number.isFinite(value)).toBe(true)
      }
  })

  it('reads columns that every engine has, and survives a trip as JSON', () => {
    for (const expression of [correction.loss!, ...Object.values(correction.metrics ?? {})]) {
      for (const name of columnsOf(expression)) expect(Object.keys(rowOf({ logprob: [0] }))).toContain(name)
      const row = { logprob: [-1, -2], proximal: [-1.1, -1.9] }
      expect(valuesOf(JSON.parse(JSON.stringify(expression)), row)).toEqual(valuesOf(expression, row))
    }
  })
})

describe('gspo', () => {
  const row: Columns = { logprob: [-1, -2], proximal: [-1.2, -1.9], advantage: [1, 1] }
  const ratio = Math.exp(0.05)

  it('gives every token of a row the geometric mean of its ratios', () => {
    for (const value of valuesOf(withSettings(gspo).correct!().metrics?.ratio, row))
      expect(value).toBeCloseTo(ratio, 9)
  })

  it('clips tightly, all tokens of the row together', () => {
    for (const value of valuesOf(lossOf(gspo), row)) expect(value).toBeCloseTo(-1.0004, 9)
    for (const slope of slopesOf(lossOf(gspo), row)) expect(slope).toBeCloseTo(0, 9)
  })

  it('has the ratio times the advantage as its slope inside the bounds', () => {
    for (const slope of slopesOf(lossOf(gspo, { high: 1 }), row)) expect(slope).toBeCloseTo(-ratio, 5)
  })
})

describe('gmpo', () => {
  it('clips each log-ratio on the side that the advantage pushes to, then takes the mean', () => {
    const drifts = [0.6, -0.8, 0.2]
    const row = (advantage: number): Columns => ({
      logprob: drifts.map((drift) => drift - 3),
      proximal: [-3, -3, -3],
      advantage: [advantage, advantage, advantage],
    })
    const up = Math.exp((0.4 - 0.8 + 0.2) / 3)
    const down = Math.exp((0.6 - 0.4 + 0.2) / 3)
    for (const value of valuesOf(lossOf(gmpo), row(1))) expect(value).toBeCloseTo(-up, 9)
    for (const value of valuesOf(lossOf(gmpo), row(-1))) expect(value).toBeCloseTo(down, 9)
    const slopes = slopesOf(lossOf(gmpo), row(1))
    expect(slopes[0]).toBeCloseTo(0, 9)
    expect(slopes[1]).toBeCloseTo(-up, 5)
  })
})

describe('cispo', () => {
  it.each([
    [2, 1, -2],
    [7, 1, -5],
    [0.1, -1, 0.1],
    [7, -1, 5],
  ])('at ratio %d and advantage %d pulls by %d: cut, never silenced', (ratio, advantage, wanted) => {
    expect(pull(cispo, ratio, advantage)).toBeCloseTo(wanted, 5)
  })

  it('takes bounds on both sides', () => {
    expect(pull(cispo, 0.1, 1, { floor: 0.8, cap: 1.2 })).toBeCloseTo(-0.8, 5)
  })
})

describe('soft_adaptive', () => {
  it('has the value and the slope of the sigmoid gate', () => {
    const sigmoid = 1 / (1 + Math.exp(-0.5))
    expect(valuesOf(lossOf(softAdaptive), atRatio(1.5, 2))[0]).toBeCloseTo(-8 * sigmoid, 9)
    expect(pull(softAdaptive, 1.5, 1)).toBeCloseTo(-4 * sigmoid * (1 - sigmoid) * 1.5, 5)
  })

  it('lets go of negative advantages sooner', () => {
    expect(Math.abs(pull(softAdaptive, 3, -1))).toBeLessThan(Math.abs(pull(softAdaptive, 3, 1)))
  })
})

describe('reinforce', () => {
  it('does not look at ratios', () => {
    for (const ratio of [0.01, 1, 100]) expect(pull(reinforce, ratio, 0.7)).toBeCloseTo(-0.7, 5)
  })

  it('can be held near the policy that the batch began with', () => {
    expect(pull(reinforce, Math.E, 0, { regularise: 0.5 })).toBeCloseTo(1, 5)
  })
})

describe('rec', () => {
  it('with one side and weights pulls as the PPO clip does', () => {
    const ppo = { low: 0.2, high: 0.2, dual: null }
    for (const ratio of [0.3, 0.79, 0.81, 1, 1.19, 1.21, 4])
      for (const advantage of [1, -1])
        expect(pull(rec, ratio, advantage)).toBeCloseTo(pull(clip, ratio, advantage, ppo), 5)
  })

  it('without weights pulls by the advantage alone, inside the range', () => {
    expect(pull(rec, 0.3, 1, { weights: false })).toBeCloseTo(-1, 5)
    expect(pull(rec, 1.3, 1, { weights: false })).toBeCloseTo(0, 9)
  })

  it.each([
    ['two-side', 0.3, 1, 0],
    ['two-side', 1.1, 1, -1],
    ['ring', 0.3, 1, -1],
    ['ring', 0.5, 1, 0],
    ['ring', 3.5, -1, 1],
    ['ring', 2.5, -1, 0],
  ])('%s at ratio %d and advantage %d pulls by %d', (range, ratio, advantage, wanted) => {
    expect(pull(rec, ratio, advantage, { range, weights: false })).toBeCloseTo(wanted, 5)
  })
})

describe('rec by sequences (REC-GSPO)', () => {
  const row = (...ratios: number[]): Columns => ({
    logprob: ratios.map((ratio) => Math.log(ratio) - 1),
    proximal: ratios.map(() => -1),
    advantage: ratios.map(() => 1),
  })
  const slopes = (given: object, columns: Columns) =>
    slopesOf(lossOf(rec, { range: 'sequence', ...given }), columns)

  it('weighs each token by the geometric mean of its row, if that is in range on the side that matters', () => {
    // Ratios of 2 and 0.6: their geometric mean is 1.095445.
    for (const slope of slopes({}, row(2, 0.6))) expect(slope).toBeCloseTo(-1.095445, 5)
    for (const slope of slopes({ weights: false }, row(2, 0.6))) expect(slope).toBeCloseTo(-1, 5)
    for (const slope of slopes({}, row(2, 0.8))) expect(slope).toBeCloseTo(0, 9)
    const bad = { ...row(2, 0.8), advantage: [-1, -1] }
    for (const slope of slopes({}, bad)) expect(slope).toBeCloseTo(1.264911, 5)
    for (const slope of slopes({}, { ...row(0.5, 0.8), advantage: [-1, -1] })) expect(slope).toBeCloseTo(0, 9)
  })
})

describe('topr', () => {
  it.each([
    [3, 1, -1],
    [0.1, 1, -1],
    [3, -1, 1],
    [0.1, -1, 0.1],
  ])('at ratio %d and advantage %d pulls by %d', (ratio, advantage, wanted) => {
    expect(pull(topr, ratio, advantage)).toBeCloseTo(wanted, 5)
  })
})

describe('vespo', () => {
  it('weighs a row by a bump of the product of its ratios', () => {
    const row = (advantage: number): Columns => ({
      logprob: [-1, -1],
      proximal: [-1.2, -1.1],
      advantage: [advantage, advantage],
    })
    const weight = Math.exp(0.3)
    const up = Math.exp(3 + 2 * 0.3 - 3 * weight)
    const down = Math.exp(2 + 3 * 0.3 - 2 * weight)
    for (const slope of slopesOf(lossOf(vespo), row(1))) expect(slope).toBeCloseTo(-up, 5)
    for (const slope of slopesOf(lossOf(vespo), row(-1))) expect(slope).toBeCloseTo(down, 5)
  })
})

describe('dppo', () => {
  const at = (now: number, sampler: number, advantage: number): Columns => ({
    logprob: [Math.log(now)],
    proximal: [Math.log(now)],
    behaviour: [Math.log(sampler)],
    advantage: [advantage],
  })
  const slope = (row: Columns): number => slopesOf(lossOf(dppo, { pull: 0 }), row)[0]!

  it('drops what has moved by more than 0.2 of probability with the advantage', () => {
    expect(slope(at(0.75, 0.5, 1))).toBeCloseTo(0, 9)
    expect(slope(at(0.65, 0.5, 1))).toBeCloseTo(-1.3, 5)
    expect(slope(at(0.75, 0.5, -1))).toBeCloseTo(1.5, 5)
    expect(slope(at(0.25, 0.5, -1))).toBeCloseTo(0, 9)
  })

  it('has no gradient through a ratio that the sampler called impossible', () => {
    expect(slope({ logprob: [-0.3], behaviour: [-12], advantage: [-1] })).toBeCloseTo(0, 9)
  })

  it('pulls gently towards the sampler', () => {
    const [slope] = slopesOf(lossOf(dppo), { logprob: [-1], behaviour: [-2], advantage: [0] })
    expect(slope).toBeCloseTo(0.002, 7)
  })

  it('pulls back tokens that went too far, too, as PRIME-RL does', () => {
    const row = { logprob: [-9, -0.5], behaviour: [-0.5, -2], advantage: [-1, 1] }
    const [fell, rose] = slopesOf(lossOf(dppo), row) as [number, number]
    expect(fell).toBeCloseTo(-0.017, 7)
    expect(rose).toBeCloseTo(0.003, 7)
    expect(valuesOf(lossOf(dppo), row)[0]).toBeCloseTo(0.07225, 9)
  })
})

describe('ipo', () => {
  const at = (now: number, sampler: number, advantage: number): Columns => ({
    logprob: [Math.log(now)],
    behaviour: [Math.log(sampler)],
    advantage: [advantage],
  })
  const slope = (row: Columns, given = {}): number => slopesOf(lossOf(ipo, { pull: 0, ...given }), row)[0]!

  it('drops what has moved by more than 0.1 of probability, whichever way', () => {
    for (const advantage of [1, -1]) {
      expect(slope(at(0.61, 0.5, advantage))).toBeCloseTo(0, 9)
      expect(slope(at(0.39, 0.5, advantage))).toBeCloseTo(0, 9)
      expect(slope(at(0.59, 0.5, advantage))).toBeCloseTo(-1.18 * advantage, 5)
      expect(slope(at(0.75, 0.5, advantage), { bound: 0.3 })).toBeCloseTo(-1.5 * advantage, 5)
    }
  })

  it('pulls back what it drops', () => {
    const [fell] = slopesOf(lossOf(ipo), { logprob: [-9], behaviour: [-0.5], advantage: [-1] })
    expect(fell).toBeCloseTo(-0.017, 7)
  })
})
