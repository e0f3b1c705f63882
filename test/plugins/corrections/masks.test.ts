import { describe, expect, it } from 'vitest'
import foreign from '../../../plugins/corrections/groups/foreign.ts'
import { CORRECTIONS, LOSSES } from '../../../plugins/corrections/index.ts'
import opsm from '../../../plugins/corrections/opsm.ts'
import rejection from '../../../plugins/corrections/rejection.ts'
import tis from '../../../plugins/corrections/tis.ts'
import { withSettings } from '../samples.ts'
import { type Columns, slopesOf, valuesOf } from './rows.ts'

const atWeights = (...weights: number[]): Columns => ({
  proximal: weights.map((weight) => Math.log(weight) - 3),
  behaviour: weights.map(() => -3),
})

describe('the corrections', () => {
  it('give a loss, or they do not', () => {
    for (const plugin of CORRECTIONS) {
      const correction = withSettings(plugin).correct?.()
      expect(correction?.loss !== undefined, plugin.name).toBe(LOSSES.includes(plugin))
    }
  })

  it('weigh and mask without a gradient', () => {
    for (const plugin of CORRECTIONS) {
      const { weight, mask } = withSettings(plugin).correct?.() ?? {}
      const row = { logprob: [-1, -2], behaviour: [-1.5, -1.8], advantage: [-1, -1], foreign: [1, 1] }
      for (const expression of [weight, mask])
        if (expression !== undefined) expect(slopesOf(expression, row)).toEqual([0, 0])
    }
  })
})

describe('masked importance sampling (IcePop), of rejection and tis', () => {
  it('keeps tokens in the window at their weight and drops the rest', () => {
    const row = atWeights(1, 0.4, 4, 6)
    const { mask } = withSettings(rejection, { tests: [{ low: 0.5, high: 5 }] }).correct!()
    const truncated = withSettings(tis, { cap: 5, veto: 'off' }).correct!()
    expect(valuesOf(mask, row)).toEqual([1, 0, 1, 0])
    expect(valuesOf(truncated.mask, row)).toEqual([1, 1, 1, 1])
    for (const i of [0, 2]) expect(valuesOf(truncated.weight, row)[i]).toBeCloseTo([1, 0, 4][i]!, 9)
  })
})

describe('opsm', () => {
  const { mask } = withSettings(opsm).correct!()
  const row = (advantage: number, ...gaps: number[]): Columns => ({
    logprob: gaps.map((gap) => -1 - gap),
    behaviour: gaps.map(() => -1),
    advantage: gaps.map(() => advantage),
  })

  it('drops bad rows that the policy has left behind, and no others', () => {
    expect(valuesOf(mask, row(-1, 0.1, 0.02))).toEqual([0, 0])
    expect(valuesOf(mask, row(-1, 0.1, -0.02))).toEqual([1, 1])
    expect(valuesOf(mask, row(-1, -3, -3))).toEqual([1, 1])
    expect(valuesOf(mask, row(1, 3, 3))).toEqual([1, 1])
  })

  it('judges by the tokens whose sampler is known', () => {
    expect(valuesOf(mask, { ...row(-1, 0.1, 0), known: [1, 0] })).toEqual([0, 0])
    expect(valuesOf(mask, { ...row(-1, 0.1, 0), known: [0, 0] })).toEqual([1, 1])
  })
})

describe('foreign', () => {
  const row = (advantage: number): Columns => ({
    ...atWeights(0.5, 4, 0.5, 4),
    foreign: [1, 1, 0, 0],
    advantage: [advantage, advantage, advantage, advantage],
  })

  it('beside tis never lets a negative foreign token weigh more than 1', () => {
    const product = (advantage: number): number[] => {
      const [ours, theirs] = [withSettings(foreign).correct!().weight, withSettings(tis).correct!().weight]
      const [a, b] = [valuesOf(ours, row(advantage)), valuesOf(theirs, row(advantage))]
      return a.map((value, i) => Math.round(value * b[i]! * 1e6) / 1e6)
    }
    expect(product(-1)).toEqual([0.5, 0.5, 0.5, 2])
    expect(product(1)).toEqual([0.5, 2, 0.5, 2])
  })

  it('alone tapers as topr does', () => {
    const weights = valuesOf(withSettings(foreign, { taper: 'alone' }).correct!().weight, row(-1))
    for (const [i, value] of weights.entries()) expect(value).toBeCloseTo([0.5, 1, 1, 1][i]!, 9)
  })

  it('can take a share off all that is foreign, and more off what is negative', () => {
    const given = { weight: 0.5, negative: 0.2, taper: 'off' }
    const { weight } = withSettings(foreign, given).correct!()
    expect(valuesOf(weight, row(1))).toEqual([0.5, 0.5, 1, 1])
    expect(valuesOf(weight, row(-1))).toEqual([0.1, 0.1, 1, 1])
  })

  it('learns from what went well where the sampler is unknown, and not from what went badly', () => {
    const { weight, metrics } = withSettings(foreign).correct!()
    const unknown = (advantage: number): Columns => ({ ...row(advantage), known: [0, 0, 1, 1] })
    expect(valuesOf(weight, unknown(1))).toEqual([1, 1, 1, 1])
    expect(valuesOf(weight, unknown(-1))).toEqual([0, 0, 1, 1])
    expect(valuesOf(metrics!.uncorrected, unknown(1))).toEqual([1, 1, 0, 0])
  })

  it('drops what went badly in rows of a policy that is far away, unless it is this node', () => {
    const { mask } = withSettings(foreign, { far: 0.5 }).correct!()
    const far = (advantage: number, author: number, gap: number): Columns => ({
      logprob: [-1 - gap, -1 - gap],
      behaviour: [-1, -1],
      advantage: [advantage, advantage],
      foreign: [author, author],
    })
    expect(valuesOf(mask, far(-1, 1, 0.6))).toEqual([0, 0])
    expect(valuesOf(mask, far(-1, 1, 0.4))).toEqual([1, 1])
    expect(valuesOf(mask, far(1, 1, 3))).toEqual([1, 1])
    expect(valuesOf(mask, far(-1, 0, 3))).toEqual([1, 1])
  })
})
