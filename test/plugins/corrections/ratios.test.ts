import { describe, expect, it } from 'vitest'
import { assembleObjective } from '../../../daemon/host/objective.ts'
import r2vpoLike from '../../../plugins/corrections/losses/r2vpo-like.ts'
import stPpoLike from '../../../plugins/corrections/losses/st-ppo-like.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'
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

describe('the ratio of turns', () => {
  const turns = [
    { start: 0, length: 3 },
    { start: 4, length: 2 },
  ].map((turn) => ({ state: '', observation: '', reward: 0, ...turn }))
  const lossMask = Uint8Array.of(1, 1, 1, 0, 1, 1)
  const episode = (reward: number) =>
    rolloutOf(reward, 6, { turns, lossMask, behaviourLogprobs: new Float32Array(6).fill(-1) })
  const columnsAt = async (logprobs: number[], advantage: number, given: Record<string, unknown> = {}) => {
    const context = createScriptedContext({ logprobs: () => logprobs })
    return withSettings(stPpoLike, given).columns!([[advantage]], [groupOf([episode(1)])], context)
  }

  it('is the geometric mean over a turn’s own tokens', async () => {
    const { drift } = await columnsAt([-0.9, -1.1, -0.7, -5, -1.5, -0.9], 1)
    // Means of 0.1, -0.1, 0.3 and of -0.5, 0.1; the environment's token has none.
    const row = (drift as Float32Array[][])[0]![0]!
    for (const [i, value] of [0.1, 0.1, 0.1, 0, -0.2, -0.2].entries()) expect(row[i]).toBeCloseTo(value, 6)
  })

  it('weighs and clips every token of a turn alike', () => {
    const { loss } = withSettings(stPpoLike).correct!()
    const own = (drift: number[]) => ({ 'st_ppo_like.drift': drift, 'st_ppo_like.scale': [1, 1, 1] })
    const good = { logprob: [-1, -2, -3], ...own([0.1, -0.2, 0.5]) }
    // exp(0.1) and exp(-0.2) pull by themselves; exp(0.5) = 1.65 is clipped.
    const up = slopesOf(loss, good)
    for (const [i, slope] of [-1.105171, -0.818731, 0].entries()) expect(up[i]).toBeCloseTo(slope, 5)
    expect(valuesOf(loss, good)[2]).toBeCloseTo(-1.2, 9)
    const bad = { ...good, advantage: [-1, -1, -1], ...own([0.1, -0.2, -0.5]) }
    const down = slopesOf(loss, bad)
    for (const [i, slope] of [1.105171, 0.818731, 0].entries()) expect(down[i]).toBeCloseTo(slope, 5)
  })

  it('is weaker while much is clipped, unless told not to be', async () => {
    // Both turns at a ratio of e^0.5, five tokens of 1.6487 * 2 each: 1 / (1 + 3.2974).
    const clipped = [-0.5, -0.5, -0.5, -5, -0.5, -0.5]
    expect((await columnsAt(clipped, 2)).scale).toBeCloseTo(1 / (1 + 2 * Math.exp(0.5)), 6)
    expect((await columnsAt(clipped, -2)).scale).toBe(1)
    expect((await columnsAt(clipped, 2, { damp: false })).scale).toBe(1)
  })

  it('of a rollout without turns is that of the whole, and 1 where its sampler is unknown', async () => {
    const context = createScriptedContext({ logprobs: () => [-0.5, -1] })
    const known = rolloutOf(1, 2, { behaviourLogprobs: Float32Array.of(-1, -1) })
    const { drift } = await withSettings(stPpoLike).columns!(
      [[1, 1]],
      [groupOf([known, rolloutOf(0, 2)])],
      context,
    )
    expect(drift).toEqual([[Float32Array.of(0.25, 0.25), 0]])
  })
})
