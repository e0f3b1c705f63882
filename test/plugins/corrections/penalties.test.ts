import { describe, expect, it } from 'vitest'
import klLimit from '../../../plugins/corrections/penalties/kl-limit.ts'
import llds from '../../../plugins/corrections/penalties/llds.ts'
import successNll from '../../../plugins/corrections/penalties/success-nll.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { slopesOf, valuesOf } from './rows.ts'

describe('supervised learning on right answers', () => {
  const sharesOf = async (groups: ReturnType<typeof groupOf>[]) =>
    (await withSettings(successNll).columns!([], groups, contextOf())).share

  it('is the mean over the right answers’ tokens, in a loss that is a mean over all tokens', async () => {
    // 6 tokens, 2 of them in the right answer: each of these counts three times, so that their sum / 6 is their mean.
    const groups = [groupOf([rolloutOf(1, 2), rolloutOf(0, 4)])]
    expect(await sharesOf(groups)).toEqual([[3, 0]])
    const { penalty, columns } = withSettings(successNll).correct!()
    expect(columns).toEqual({ share: 0 })
    const right = { logprob: [-0.5, -1.5], 'success_nll.share': [3, 3] }
    const all = valuesOf(penalty, right).reduce((sum, value) => sum + value, 0) / 6
    // The mean of 0.5 and 1.5, times 0.1.
    expect(all).toBeCloseTo(0.1, 12)
    for (const slope of slopesOf(penalty, right)) expect(slope).toBeCloseTo(-0.3, 6)
  })

  it('counts each author’s tokens apart, as their gradients are', async () => {
    const groups = [
      groupOf([rolloutOf(1, 1), rolloutOf(0, 1)]),
      groupOf([rolloutOf(1, 1), rolloutOf(0, 3)], { author: 'peer' }),
    ]
    expect(await sharesOf(groups)).toEqual([
      [2, 0],
      [4, 0],
    ])
  })

  it('goes by the verifier, counts only what the policy wrote, and leaves borrowed answers alone', async () => {
    const groups = [
      groupOf([
        rolloutOf(0.2, 3, { taskReward: 1, lossMask: Uint8Array.of(1, 0, 1) }),
        rolloutOf(0.9, 2, { taskReward: 0 }),
        rolloutOf(1, 4, { author: 'peer' }),
      ]),
    ]
    expect(await sharesOf(groups)).toEqual([[4, 0, 0]])
    expect(await sharesOf([groupOf([0, 0])])).toEqual([[0, 0]])
  })

  it('weighs peers’ answers, and uncertain tokens, as told', () => {
    const half = withSettings(successNll, { coefficient: 1, peers: 0.5 }).correct!().penalty
    const row = { logprob: [-2, -2], foreign: [0, 1], 'success_nll.share': [1, 1] }
    expect(valuesOf(half, row)).toEqual([2, 1])
    const focused = withSettings(successNll, { coefficient: 1, focus: true }).correct!().penalty
    const slopes = slopesOf(focused, { logprob: [Math.log(0.5), -30], 'success_nll.share': [1, 1] })
    expect(slopes[0]).toBeCloseTo(-0.25, 6)
    expect(slopes[1]).toBeCloseTo(0, 6)
  })
})

describe('llds', () => {
  const penaltyOf = (given: Record<string, unknown> = {}) =>
    withSettings(llds, { coefficient: 1, ...given }).correct!().penalty
  const behaviour = [-1, -1, -1]

  it('lifts the tokens that fell, in answers that fell and were not bad', () => {
    // Falls of 0.5, -0.2 and 0.1: together 0.4, so the gate is open.
    const row = { logprob: [-1.5, -0.8, -1.1], behaviour }
    const values = valuesOf(penaltyOf(), row)
    for (const [i, value] of [0.5, 0, 0.1].entries()) expect(values[i]).toBeCloseTo(value, 9)
    const slopes = slopesOf(penaltyOf(), row)
    for (const [i, slope] of [-1, 0, -1].entries()) expect(slopes[i]).toBeCloseTo(slope, 6)
    expect(valuesOf(penaltyOf(), { ...row, advantage: [0, 0, 0] })[0]).toBeCloseTo(0.5, 9)
  })

  it('asks nothing of bad answers, of those that rose as a whole, of peers and of unknown samplers', () => {
    const fell = { logprob: [-1.5, -0.8, -1.1], behaviour }
    for (const row of [
      { ...fell, advantage: [-1, -1, -1] },
      { logprob: [-1.5, -0.3, -1.1], behaviour },
      { ...fell, foreign: [1, 1, 1] },
      { ...fell, known: [0, 0, 0] },
    ])
      expect(valuesOf(penaltyOf(), row)).toEqual([0, 0, 0])
  })

  it('by turn opens the gate for the turns that fell alone', async () => {
    const turns = [0, 2].map((start) => ({ state: '', observation: '', start, length: 2, reward: 0 }))
    const rollout = rolloutOf(1, 4, {
      turns,
      behaviourLogprobs: Float32Array.of(-1, -1, -1, -1),
    })
    // The first turn fell by 0.5 - 0.2, the second rose by 0.75 - 0.5.
    const context = createScriptedContext({ logprobs: () => [-1.5, -0.8, -0.25, -1.5] })
    const hooks = withSettings(llds, { level: 'turn' })
    const { fell } = await hooks.columns!([[1, 0]], [groupOf([rollout, rolloutOf(0, 1)])], context)
    expect(fell).toEqual([[Float32Array.of(1, 1, 0, 0), 0]])
    const row = { logprob: [-1.5, -0.8, -0.25, -1.5], behaviour: [-1, -1, -1, -1], 'llds.fell': [1, 1, 0, 0] }
    const values = valuesOf(penaltyOf({ level: 'turn' }), row)
    for (const [i, value] of [0.5, 0, 0, 0].entries()) expect(values[i]).toBeCloseTo(value, 9)
  })
})

describe('the limit on the divergence from the sampler', () => {
  const pullOf = async (logprobs: number[], more: Record<string, unknown> = {}) => {
    const rollout = rolloutOf(1, 2, { behaviourLogprobs: Float32Array.of(-1, -1) })
    const context = createScriptedContext({ logprobs: () => logprobs })
    const hooks = withSettings(klLimit, { limit: 0.1, slope: 10, ...more })
    return (await hooks.columns!([[1]], [groupOf([rollout])], context)).pull
  }

  it('pulls in proportion to what is beyond it, and not at all within', async () => {
    // Divergences of 0.25, (0.5 - 0.3) / 2 = 0.1, and below 0.
    expect(await pullOf([-1.5, -1])).toBeCloseTo(1.5, 5)
    expect(await pullOf([-1.5, -0.7])).toBeCloseTo(0, 5)
    expect(await pullOf([-0.5, -0.5])).toBe(0)
  })

  it('pulls up what the sampler wrote, except peers’ tokens and those of unknown samplers', () => {
    const { penalty } = withSettings(klLimit).correct!()
    const row = {
      logprob: [-1.5, -1.5, -1.5],
      behaviour: [-1, -1, -1],
      known: [1, 1, 0],
      foreign: [0, 1, 0],
      'kl_limit.pull': [2, 2, 2],
    }
    expect(valuesOf(penalty, row)).toEqual([1, 0, 0])
    const slopes = slopesOf(penalty, row)
    for (const [i, slope] of [-2, 0, 0].entries()) expect(slopes[i]).toBeCloseTo(slope, 6)
  })

  it('measures own tokens only', async () => {
    const hooks = withSettings(klLimit, { limit: 0, slope: 1 })
    const group = groupOf([rolloutOf(1, 1, { behaviourLogprobs: Float32Array.of(-1) })], { author: 'peer' })
    const view = { lineage: 'a', tokenizer: 'b', version: 0, self: 'self', at: 'batch' as const }
    await hooks.group!([group], view, contextOf())
    const context = createScriptedContext({ logprobs: () => [-3] })
    expect((await hooks.columns!([[1]], [group], context)).pull).toBe(0)
  })
})
