import { describe, expect, it } from 'vitest'
import primeRl from '../../../plugins/corrections/losses/prime-rl.ts'
import rejection from '../../../plugins/corrections/rejection.ts'
import { withSettings } from '../samples.ts'
import { type Columns, slopesOf, valuesOf } from './rows.ts'

/** Ratios of the policy to the sampler, token by token. */
const atRatios = (...ratios: number[]): Columns => ({
  logprob: ratios.map((ratio) => Math.log(ratio) - 9),
  behaviour: ratios.map(() => -9),
})
const kept = (tests: object[] | undefined, row: Columns, given = {}): number[] =>
  valuesOf(withSettings(rejection, { ...(tests && { tests }), ...given }).correct!().mask, row)

describe('rejection', () => {
  it("has PRIME-RL's masks by default: a token's ratio, a row's mean, and a veto above", () => {
    expect(kept(undefined, atRatios(1, 0.12, 0.13, 7.9, 8.1))).toEqual([1, 0, 1, 1, 0])
    expect(kept(undefined, atRatios(1, 1, 99))).toEqual([1, 1, 0])
    expect(kept(undefined, atRatios(1, 1, 101))).toEqual([0, 0, 0])
    // Each of them would pass, but the geometric mean is 0.0999.
    const low = [
      { of: 'token', low: 0.05, high: 8 },
      { of: 'mean', low: 0.1, high: 10 },
    ]
    expect(kept(low, atRatios(0.2, 0.05))).toEqual([1, 1])
    expect(kept(low, atRatios(0.199, 0.0501))).toEqual([0, 0])
  })

  it('takes a token window and a geometric one together', () => {
    const tests = [
      { of: 'token', low: 0.5, high: 5 },
      { of: 'mean', low: 0.9, high: 1.1 },
    ]
    expect(kept(tests, atRatios(0.4, 2.5, 1))).toEqual([0, 1, 1])
    expect(kept(tests, atRatios(0.6, 1, 1))).toEqual([0, 0, 0])
  })

  // d = ln 2, 0, -ln 2: k2 = 0.240227, 0, 0.240227; k3 = 0.306853, 0, 0.193147.
  it.each([
    ['k2', 'token', 0.24, [0, 1, 0]],
    ['k2', 'token', 0.241, [1, 1, 1]],
    ['k2', 'sum', 0.48, [0, 0, 0]],
    ['k2', 'sum', 0.481, [1, 1, 1]],
    ['k2', 'mean', 0.16, [0, 0, 0]],
    ['k2', 'mean', 0.161, [1, 1, 1]],
    ['k2', 'any', 0.24, [0, 0, 0]],
    ['k2', 'any', 0.241, [1, 1, 1]],
    ['k3', 'token', 0.25, [0, 1, 1]],
    ['k3', 'sum', 0.499, [0, 0, 0]],
    ['k3', 'sum', 0.501, [1, 1, 1]],
    ['k3', 'mean', 0.166, [0, 0, 0]],
    ['k3', 'mean', 0.167, [1, 1, 1]],
    ['k3', 'any', 0.306, [0, 0, 0]],
    ['k3', 'any', 0.307, [1, 1, 1]],
  ])('by %s of %s up to %d', (measure, of, high, wanted) => {
    expect(kept([{ measure, of, high }], atRatios(2, 1, 0.5))).toEqual(wanted)
  })

  it('compares products, and whole rows by any token of theirs', () => {
    expect(kept([{ of: 'sum', low: 0.5, high: 3.9 }], atRatios(2, 2))).toEqual([0, 0])
    expect(kept([{ of: 'sum', low: 0.5, high: 4.1 }], atRatios(2, 2))).toEqual([1, 1])
    expect(kept([{ of: 'any', low: 0.5, high: 5 }], atRatios(1, 0.4))).toEqual([0, 0])
  })

  it('judges by tokens of the row whose sampler is known, and masks the others unless told to keep them', () => {
    const row = { ...atRatios(1, 200, 4), known: [1, 0, 1], mask: [1, 1, 0] }
    expect(kept(undefined, row)).toEqual([1, 0, 1])
    expect(kept(undefined, row, { unknown: 'keep' })).toEqual([1, 1, 1])
    const half = { ...atRatios(0.5, 9), known: [1, 0] }
    expect(kept([{ of: 'mean', low: 0.6, high: 2 }], half, { unknown: 'keep' })).toEqual([0, 0])
  })

  it('can look at the policy as it is, which masks without a gradient', () => {
    const row = { logprob: [-1], proximal: [-3], behaviour: [-3], known: [1] }
    const tests = [{ of: 'token', low: 0.5, high: 2 }]
    expect(kept(tests, row)).toEqual([1])
    expect(kept(tests, row, { policy: 'current' })).toEqual([0])
    expect(slopesOf(withSettings(rejection, { policy: 'current' }).correct!().mask, row)).toEqual([0])
  })

  it('refuses bounds that make no sense', () => {
    expect(() => withSettings(rejection, { tests: [{ low: 2, high: 1 }] })).toThrow('low must be below high')
    expect(() => withSettings(rejection, { tests: [{ measure: 'k3', low: 0.1, high: 1 }] })).toThrow(
      'to ratios only',
    )
    expect(() => withSettings(rejection, { tests: [] })).toThrow()
  })
})

describe('prime_rl', () => {
  const slope = (ratio: number, advantage: number, given = {}): number =>
    slopesOf(withSettings(primeRl, given).correct!().loss, { ...atRatios(ratio), advantage: [advantage] })[0]!

  it('pulls by the ratio times the advantage where the ratio is in range', () => {
    expect(slope(0.5, 2)).toBeCloseTo(-1, 5)
    expect(slope(7, -1)).toBeCloseTo(7, 5)
    expect(slope(8.1, 1)).toBeCloseTo(0, 9)
    expect(slope(0.12, 1)).toBeCloseTo(0, 9)
  })

  it('takes the log-ratio times kl_tau off the advantage', () => {
    // w = 2, A = 1, kl_tau = 0.5: -2 (1 - 0.5 ln 2).
    expect(slope(2, 1, { klTau: 0.5 })).toBeCloseTo(-1.306853, 5)
    // w = 0.5: -0.5 (1 + 0.5 ln 2).
    expect(slope(0.5, 1, { klTau: 0.5 })).toBeCloseTo(-0.673287, 5)
  })

  it('drops a row with a token above 100', () => {
    const row = { ...atRatios(1, 101), advantage: [1, 1] }
    for (const value of slopesOf(withSettings(primeRl).correct!().loss, row)) expect(value).toBeCloseTo(0, 9)
  })
})
