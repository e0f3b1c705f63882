import { describe, expect, it } from 'vitest'
import clip from '../../../plugins/corrections/losses/clip.ts'
import tis from '../../../plugins/corrections/tis.ts'
import { calibrated, createTracker, weightsOf } from '../../../plugins/replay/difficulty.ts'
import dots from '../../../plugins/replay/dots.ts'
import { drawByWeight } from '../../../plugins/replay/kept/draw.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { type Group, promptKey } from '../../../protocol/train/index.ts'
import { valuesOf } from '../corrections/rows.ts'
import { contextOf, withSettings } from '../samples.ts'
import { viewAt, visit } from './samples.ts'

async function train(hooks: Hooks, groups: Group[], step: number): Promise<Group[]> {
  const batch = await hooks.group!(groups, viewAt(step), contextOf(step))
  const advantages = batch.map(({ rollouts }) => rollouts.map(() => 1))
  await hooks.commit!({ step, metrics: {}, groups: batch, advantages }, contextOf(step))
  return batch
}

describe('drawing by weight', () => {
  it('draws as often as the weights say', () => {
    const sizes = [4, 2, 1, 1]
    const counts = [0, 0, 0, 0]
    const random = contextOf().random('chi')
    for (let i = 0; i < 4000; i++) counts[drawByWeight([0, 1, 2, 3], sizes, 1, random)[0]!]! += 1
    const chiSquare = counts.reduce(
      (sum, count, i) => sum + (count - 500 * sizes[i]!) ** 2 / (500 * sizes[i]!),
      0,
    )
    // 99.9 % quantile for 3 degrees of freedom.
    expect(chiSquare).toBeLessThan(16.27)
  })

  it('draws without putting back, and nothing of weight 0', () => {
    const drawn = drawByWeight(['a', 'b', 'c'], [1, 0, 2], 9, contextOf().random('x'))
    expect(drawn.sort()).toEqual(['a', 'c'])
  })
})

describe('difficulty-targeted selection', () => {
  const odds = (distance: number): number => {
    const [near, far] = weightsOf([0, -distance / 1e-3])
    return far! / near!
  }

  it('weighs by the distance from the aim, nearly only the nearest', () => {
    expect(odds(0.001)).toBeCloseTo(0.3679, 4)
    expect(odds(0.01) / 4.5e-5).toBeCloseTo(1, 1)
    expect(odds(0.1) / 3.7e-44).toBeCloseTo(1, 1)
  })

  it('does not care what is added to all logits, and never underflows', () => {
    const logits = [-3, -1, -2.5, -500, -90_000]
    const weights = weightsOf(logits)
    for (const constant of [-1000, 1000]) {
      const moved = weightsOf(logits.map((logit) => logit + constant))
      for (const [i, weight] of moved.entries()) expect(weight / weights[i]!).toBeCloseTo(1, 9)
    }
    expect(Math.min(...weights)).toBeGreaterThan(0)
    expect(Math.max(...weights)).toBe(1)
  })

  it('calibrates: the identity by default, and never 0', () => {
    expect(calibrated(0.3, { scale: 1, shift: 0 })).toBeCloseTo(0.3, 12)
    expect(calibrated(0, { scale: 1, shift: 0 })).toBeCloseTo(1e-4, 12)
    expect(calibrated(0.3, { scale: 2, shift: 0 })).toBeGreaterThan(0.3)
    expect(calibrated(0.3, { scale: 1, shift: 1 })).toBeGreaterThan(0.3)
  })

  it('takes the posterior mean of a prompt, older rollouts counting less', () => {
    const tracker = createTracker(0.5)
    const { prompt } = visit(1, 0, [0])
    expect(tracker.mean(prompt)).toBe(0.5)
    tracker.add(prompt, 0, 8)
    expect(tracker.mean(prompt)).toBe(0.1)
    tracker.add(prompt, 8, 0)
    expect(tracker.mean(prompt)).toBeCloseTo(9 / 14, 12)
  })

  it('asks what is half known before what is always right or wrong', async () => {
    const hooks = withSettings(dots)
    await hooks.observe!(
      [
        visit(1, 0, [0, 0, 0, 0]),
        visit(2, 0, [1, 0, 1, 0]),
        visit(3, 0, [1, 1, 1, 1]),
        visit(4, 0, [0, 0, 0, 1]),
      ],
      contextOf(),
    )
    const candidates = [1, 2, 3, 4].map((seed) => visit(seed, 0, [0]).prompt)
    const weights = Array.from(await hooks.weigh!(candidates, contextOf()))
    expect(weights[1]).toBe(1)
    expect(weights[3]).toBeGreaterThan(weights[0]!)
    const off = withSettings(dots, { target: false })
    expect(await off.weigh!(candidates, contextOf())).toEqual([1, 1, 1, 1])
    await hooks.observe!([visit(1, 0, [1, 1, 1, 1], { arm: 'hint' })], contextOf())
    expect(await hooks.weigh!(candidates, contextOf())).toEqual(weights)
  })
})

describe('rollout replay', () => {
  it('fills a batch with as many past groups as its share says, of other prompts, whole', async () => {
    const hooks = withSettings(dots)
    const first = [visit(1, 0, [1, 0]), visit(2, 0, [0, 1]), visit(3, 0, [1, 1])]
    expect(await train(hooks, first, 0)).toEqual(first)
    const batch = await train(hooks, [visit(1, 1, [0, 1]), visit(5, 1, [0, 1])], 1)
    // Prompt 1 is in the batch already and prompt 3 had no signal.
    expect(batch).toHaveLength(3)
    expect(batch[2]).toMatchObject({
      prompt: first[1]!.prompt,
      conditioning: first[1]!.conditioning,
      policy: { version: 0 },
      rollouts: [
        { reward: 0, replayed: 1 },
        { reward: 1, replayed: 1 },
      ],
    })
    expect(batch[2]!.rollouts.every(({ behaviourLogprobs }) => behaviourLogprobs !== undefined)).toBe(true)
  })

  it('has 512 groups at most, the latest one of each prompt', async () => {
    const hooks = withSettings(dots, { versions: 1e6, sigma: 1e-3 })
    for (let step = 0; step < 60; step++)
      await train(
        hooks,
        Array.from({ length: 10 }, (_, i) => visit(10 * (step % 57) + i, step, [0, 1])),
        step,
      )
    const batch = await hooks.group!([visit(9999, 60, [0, 1])], viewAt(60), contextOf(60))
    const replayed = batch.slice(1)
    expect(replayed).toHaveLength(512)
    expect(new Set(replayed.map(({ prompt }) => promptKey(prompt))).size).toBe(512)
    const latest = replayed.find(({ prompt }) => prompt.seed === 0)!
    expect(latest.bornVersion).toBe(57)
  })

  it('forgets what is older than its versions, and what a roll-back took back', async () => {
    const hooks = withSettings(dots, { versions: 4 })
    await train(hooks, [visit(1, 4, [0, 1])], 4)
    const at = (version: number) => hooks.group!([visit(9, version, [0, 1])], viewAt(version), contextOf())
    expect(await at(8)).toHaveLength(2)
    expect(await at(9)).toHaveLength(1)
    await train(hooks, [visit(1, 9, [0, 1])], 9)
    expect(await at(7)).toHaveLength(1)
  })

  it('decides the same after its state was saved and loaded', async () => {
    const hooks = withSettings(dots)
    await train(hooks, [visit(1, 0, [1, 0]), visit(2, 0, [0, 1])], 0)
    await hooks.observe!([visit(1, 0, [1, 0, 0])], contextOf())
    const copy = withSettings(dots)
    await copy.load!(await hooks.save!())
    const candidates = [1, 2].map((seed) => visit(seed, 0, [0]).prompt)
    expect(await copy.weigh!(candidates, contextOf())).toEqual(await hooks.weigh!(candidates, contextOf()))
    const fresh = [visit(5, 1, [0, 1])]
    expect(await copy.group!(fresh, viewAt(1), contextOf(1))).toEqual(
      await hooks.group!(fresh, viewAt(1), contextOf(1)),
    )
  })

  it('with the clip at its proximal anchor and a truncated weight is PPO where the sampler is the policy', () => {
    const { loss } = withSettings(clip).correct!()
    const { weight } = withSettings(tis).correct!()
    for (const advantage of [1, -1])
      for (const ratio of [0.5, 0.9, 1, 1.2, 1.5]) {
        const at = (behaviour: number) => ({
          logprob: [Math.log(ratio) - 1],
          proximal: [-1],
          behaviour: [behaviour],
          advantage: [advantage],
        })
        const total = (behaviour: number): number =>
          valuesOf(loss, at(behaviour))[0]! * valuesOf(weight, at(behaviour))[0]!
        const clipped = Math.min(1.28, Math.max(0.8, ratio))
        expect(total(-1)).toBeCloseTo(-Math.min(ratio * advantage, clipped * advantage), 6)
        // And elsewhere the range is around old policy over sampler.
        const centre = Math.exp(-1 - -0.8)
        const now = ratio * centre
        const inside = Math.min(centre * 1.28, Math.max(centre * 0.8, now))
        expect(total(-0.8)).toBeCloseTo(-Math.min(now * advantage, inside * advantage), 6)
      }
  })
})
