import { describe, expect, it } from 'vitest'
import { assembleObjective } from '../../../daemon/host/objective.ts'
import r2vpoLike from '../../../plugins/corrections/losses/r2vpo-like.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { contextOf, withSettings } from '../samples.ts'
import { slopesOf, valuesOf } from './rows.ts'

describe('the variance of ratios', () => {
  const objective = (given: Record<string, unknown> = {}) => {
    const correction = withSettings(r2vpoLike, given).correct!()
    return assembleObjective([{ name: 'r2vpo_like', correction }]).loss
  }
  /** Tokens at these ratios to the policy that wrote them. */
  const row = (ratios: number[], advantage: number[], coefficient: number) => ({
    logprob: ratios.map((ratio) => Math.log(ratio) - 1),
    behaviour: ratios.map(() => -1),
    proximal: ratios.map((ratio) => Math.log(ratio) - 1),
    advantage,
    'r2vpo_like.coefficient': ratios.map(() => coefficient),
  })

  it('is subtracted from the gain, with its weight', () => {
    // Gains 1.2, -0.8, 0.5, 2, which are 0.725 in the mean; variances 0.04, 0.04, 0, 1, which are 0.27.
    const values = valuesOf(objective(), row([1.2, 0.8, 1, 2], [1, -1, 0.5, 1], 2))
    expect(values.reduce((sum, value) => sum + value, 0) / 4).toBeCloseTo(-0.725 + 2 * 0.27, 9)
  })

  it('turns the pull of a good token round once its ratio is too large', () => {
    // The slope in the log-prob is ratio (2 weight (ratio - 1) - A): at weight 0.5 it is 0 at a ratio of 2.
    const slopes = slopesOf(objective(), row([1, 2, 3], [1, 1, 1], 0.5))
    for (const [i, slope] of [-1, 0, 3].entries()) expect(slopes[i]).toBeCloseTo(slope, 5)
  })

  it('takes nothing from a token whose ratio is beyond belief', () => {
    const slopes = slopesOf(objective(), row([Math.exp(3.5), Math.exp(-3.5)], [1, -1], 1))
    for (const slope of slopes) expect(slope).toBeCloseTo(0, 9)
  })

  const weightAfter = async (hooks: Hooks, ...variances: number[]): Promise<number> => {
    for (const [i, variance] of variances.entries())
      await hooks.commit!(
        { step: i + 1, metrics: { 'r2vpo_like.variance': variance }, groups: [], advantages: [] },
        contextOf(i),
      )
    return (await hooks.columns!([], [], contextOf())).coefficient as number
  }

  it('raises its weight while it is above the bound, and lowers it to 0 at most', async () => {
    const settings = { coefficient: 0.5, bound: 0.02, rate: 2 }
    expect(await weightAfter(withSettings(r2vpoLike, settings))).toBe(0.5)
    expect(await weightAfter(withSettings(r2vpoLike, settings), 0.07)).toBeCloseTo(0.6, 12)
    expect(await weightAfter(withSettings(r2vpoLike, settings), 0.07, 0.01)).toBeCloseTo(0.58, 12)
    expect(await weightAfter(withSettings(r2vpoLike, { ...settings, rate: 100 }), 0)).toBe(0)
    expect(await weightAfter(withSettings(r2vpoLike, settings), Number.NaN)).toBe(0.5)
  })

  it('goes on from a saved weight, and refuses one that is none', async () => {
    const hooks = withSettings(r2vpoLike)
    const reached = await weightAfter(hooks, 0.5)
    const next = withSettings(r2vpoLike)
    await next.load!(await hooks.save!())
    expect(await weightAfter(next)).toBe(reached)
    expect(() => next.load!(new TextEncoder().encode('-1'))).toThrow()
  })
})
