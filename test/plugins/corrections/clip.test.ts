import { describe, expect, it } from 'vitest'
import clip from '../../../plugins/corrections/losses/clip.ts'
import tis from '../../../plugins/corrections/tis.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import { withSettings } from '../samples.ts'
import { atRatio, slopesOf, valuesOf } from './rows.ts'

const { loss, metrics } = withSettings(clip).correct!()
const at = (ratio: number, advantage: number): number => valuesOf(loss, atRatio(ratio, advantage))[0]!
const slope = (ratio: number, advantage: number): number => slopesOf(loss, atRatio(ratio, advantage))[0]!

describe('clip', () => {
  it.each([
    [1, 2, -2],
    [1.2, 1, -1.2],
    [1.5, 1, -1.28],
    [0.5, 1, -0.5],
    [0.5, -1, 0.8],
    [1.5, -1, 1.5],
    [5, -1, 3],
    [5, 1, -1.28],
  ])('at ratio %d and advantage %d the loss is %d', (ratio, advantage, wanted) => {
    expect(at(ratio, advantage)).toBeCloseTo(wanted, 9)
  })

  it('is the textbook formula', () => {
    const dice = diceFor('clip')
    for (let i = 0; i < 300; i++) {
      const [ratio, advantage] = [dice.between(1, 500) / 100, dice.between(-200, 200) / 100]
      const clipped = Math.min(Math.max(ratio, 0.8), 1.28)
      const ppo = Math.max(-ratio * advantage, -clipped * advantage)
      const wanted = advantage < 0 ? Math.min(ppo, -3 * advantage) : ppo
      expect(at(ratio, advantage)).toBeCloseTo(wanted, 9)
    }
  })

  it('pulls with the whole advantage at a ratio of 1, and not at all where it clips', () => {
    expect(slope(1, 2)).toBeCloseTo(-2, 5)
    expect(slope(1, -2)).toBeCloseTo(2, 5)
    expect(slope(1.3, 1)).toBeCloseTo(0, 9)
    expect(slope(0.7, -1)).toBeCloseTo(0, 9)
    expect(slope(4, -1)).toBeCloseTo(0, 9)
    expect(slope(0.7, 1)).toBeCloseTo(-0.7, 5)
    expect(slope(2, -1)).toBeCloseTo(2, 5)
  })

  it('has no dual bound when told so', () => {
    const { loss: open } = withSettings(clip, { dual: null }).correct!()
    expect(valuesOf(open, atRatio(5, -1))[0]).toBeCloseTo(5, 9)
  })

  it('counts each kind of clipping', () => {
    const row = {
      logprob: [1.5, 0.5, 5, 1].map(Math.log),
      proximal: [0, 0, 0, 0],
      advantage: [1, -1, -1, 1],
    }
    expect(valuesOf(metrics?.clip_high, row)).toEqual([1, 0, 0, 0])
    expect(valuesOf(metrics?.clip_low, row)).toEqual([0, 1, 0, 0])
    expect(valuesOf(metrics?.clip_dual, row)).toEqual([0, 0, 1, 0])
    expect(valuesOf(metrics?.kl, row)[0]).toBeCloseTo(1.5 - 1 - Math.log(1.5), 9)
  })

  it('compares with the sampler in bypass mode, where it is known', () => {
    const { loss: bypass } = withSettings(clip, { anchor: 'behaviour' }).correct!()
    const row = { logprob: [-1, -1], proximal: [-1, -1], behaviour: [-1.1, -9], known: [1, 0] }
    expect(valuesOf(bypass, row)[0]).toBeCloseTo(-Math.exp(0.1), 9)
    expect(valuesOf(bypass, row)[1]).toBeCloseTo(-1, 9)
  })

  it('stays finite however far apart the policies are', () => {
    for (const gap of [-1e4, 1e4])
      expect(Number.isFinite(valuesOf(loss, { logprob: [gap], proximal: [0] })[0])).toBe(true)
  })
})

describe('clip at an approximate proximal policy', () => {
  const { loss: approximate } = withSettings(clip, { anchor: 'approximate', low: 1, high: 9, dual: null })
    .correct!()
  const lossAt = (staleness: number, known = 1): number =>
    valuesOf(approximate, {
      logprob: [-0.6],
      behaviour: [-1],
      proximal: [-5],
      advantage: [1],
      staleness: [staleness],
      known: [known],
    })[0]!

  it('takes the policy to have moved as far in every version', () => {
    // Age 1: the sampler itself; 2: half way; 4: three quarters.
    expect(lossAt(1)).toBeCloseTo(-Math.exp(0.4), 9)
    expect(lossAt(2)).toBeCloseTo(-Math.exp(0.2), 9)
    expect(lossAt(4)).toBeCloseTo(-Math.exp(0.1), 9)
    expect(lossAt(0)).toBeCloseTo(-Math.exp(0.4), 9)
  })

  it('has a ratio of 1, and its gradient, where the sampler is unknown', () => {
    expect(lossAt(2, 0)).toBe(-1)
    const row = { logprob: [-0.6], behaviour: [-1], advantage: [1], staleness: [2], known: [0] }
    expect(slopesOf(approximate, row)[0]).toBeCloseTo(-1, 6)
  })

  it('makes up the whole ratio together with tis', () => {
    const { weight } = withSettings(tis, { proximal: 'approximate' }).correct!()
    const row = { logprob: [-0.6], behaviour: [-1], proximal: [-5], advantage: [1], staleness: [3] }
    const product = valuesOf(weight, row)[0]! * valuesOf(approximate, row)[0]!
    expect(product).toBeCloseTo(-Math.exp(0.4), 9)
    expect(slopesOf(weight, row)).toEqual([0])
  })
})
