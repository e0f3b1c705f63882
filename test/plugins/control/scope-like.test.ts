import { describe, expect, it } from 'vitest'
import scopeLike, { confidenceOf } from '../../../plugins/control/scope-like.ts'
import { tokensOf } from '../../../protocol/plugin/testing/index.ts'
import { isShareable, type Rollout } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const context = contextOf()
/** Answers, each as confident in all of its tokens. */
const said = (answer: string, confidence: number): Rollout => {
  const text = `So:\n<answer>${answer}</answer>`
  const tokens = tokensOf(text)
  return rolloutOf(0, tokens.length, {
    text,
    tokens,
    behaviourLogprobs: new Float32Array(tokens.length).fill(Math.log(confidence)),
  })
}
const rewards = async (given: Record<string, unknown>, rollouts: Rollout[]) =>
  withSettings(scopeLike, given).reward!(groupOf(rollouts), context)

describe('scope_like', () => {
  it('lets confident answers outvote more frequent ones, or counts heads', async () => {
    const all = [said('7', 0.9), said('7', 0.9), said('8', 0.5), said('8', 0.5), said('8', 0.5)]
    expect(await rewards({ subgroups: 1 }, all)).toEqual([1, 1, 0, 0, 0])
    expect(await rewards({ subgroups: 1, weigh: false }, all)).toEqual([0, 0, 1, 1, 1])
  })

  it('has a vote in each subgroup, by confidence', async () => {
    const all = [said('8', 0.2), said('7', 0.9), said('7', 0.8), said('8', 0.3)]
    expect(await rewards({ subgroups: 2 }, all)).toEqual([1, 1, 1, 1])
    expect(await rewards({ subgroups: 1 }, all)).toEqual([0, 1, 1, 0])
  })

  it('elects nothing without enough votes, and counts no answer in another form', async () => {
    const all = [said('1', 0.5), said('2', 0.5), said('3', 0.5), said('4', 0.5)]
    expect(await rewards({ subgroups: 1 }, all)).toEqual([0, 0, 0, 0])
    const untagged = { ...said('1', 0.9), text: 'It is 1' }
    expect(await rewards({ subgroups: 1, least: 0 }, [untagged, untagged, said('2', 0.1)])).toEqual([0, 0, 1])
  })

  it('leaves other tasks to their verifiers', async () => {
    expect(await rewards({ tasks: ['riddles'] }, [said('7', 0.9)])).toBeUndefined()
    expect(await rewards({ tasks: ['basic_arithmetic'] }, [said('7', 0.9)])).toEqual([1])
  })

  it('is as confident in a long line as in a short one', () => {
    const tokens = tokensOf('ab\nc')
    const behaviourLogprobs = Float32Array.from([0.2, 0.4, 0.6, 0.8], Math.log)
    expect(confidenceOf(rolloutOf(0, 4, { tokens, behaviourLogprobs }), context)).toBeCloseTo(0.6, 6)
    expect(confidenceOf(rolloutOf(0, 4, { tokens }), context)).toBe(0)
  })

  it('shares nothing where the verifier knows no answers', () => {
    const voted = [said('7', 0.9), said('8', 0.9)].map((one, i) => ({ ...one, reward: i, taskReward: 0 }))
    expect(isShareable(groupOf(voted))).toBe(false)
  })
})
