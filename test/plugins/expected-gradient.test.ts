// Whether a method's mean step points along the gradient of the chance of a right answer. One step may be noisy; a fault
// in a method, or in how its requests are answered, turns the mean.

import { describe, expect, it } from 'vitest'
import { CONTROL } from '../../plugins/control/index.ts'
import type { PlayOptions } from '../rollout/play.ts'
import { cosine, createWordPolicy, meanOf, type WordPolicy } from './word-policy.ts'

const stepsOf = async (policy: WordPolicy, rounds: number, options: Partial<PlayOptions>) => {
  const playing = await policy.open({ plugins: CONTROL, ...options })
  const steps = []
  for (let round = 0; round < rounds; round++) {
    const step = await policy.stepOf(playing)
    if (step) steps.push(step)
  }
  expect(playing.troubles).toEqual([])
  return steps
}
const direction = async (policy: WordPolicy, rounds: number, options: Partial<PlayOptions>) =>
  cosine(meanOf(await stepsOf(policy, rounds, options)), policy.trueGradient())

describe('the mean step of a policy that is right in one of five answers', () => {
  const policy = createWordPolicy({ seed: 3, scale: 3, right: ['abc', 'cab', 'bbb', 'acc'] })
  expect(policy.success).toBeCloseTo(0.2, 2)

  it.each<[string, number, Partial<PlayOptions>]>([
    ['grpo', 0.99, { want: 16, groupSize: 8 }],
    ['spo_chain', 0.97, { want: 60, groupSize: 1, host: { controls: [{ use: 'spo_chain', interval: 1 }] } }],
    [
      'spo_chain, whitened',
      0.97,
      { want: 60, groupSize: 1, host: { controls: [{ use: 'spo_chain', interval: 1, whiten: true }] } },
    ],
  ])('of %s points along the policy gradient', async (_, least, options) => {
    expect(await direction(policy, 20, options)).toBeGreaterThan(least)
  })

  it('of scope_like points where most votes go, and so away from rare right answers', async () => {
    const options = {
      want: 16,
      groupSize: 8,
      host: { controls: [{ use: 'scope_like', weigh: false, subgroups: 1 }] },
    }
    const steps = await stepsOf(policy, 10, options)
    const likeliest = createWordPolicy({ seed: 3, scale: 3, right: [policy.likeliest] })
    expect(cosine(meanOf(steps), likeliest.trueGradient())).toBeGreaterThan(0.95)
    expect(cosine(meanOf(steps), policy.trueGradient())).toBeLessThan(0)
  })
})
