import { describe, expect, it } from 'vitest'
import { allocate, deviation, halfWidth, shrink, tQuantile } from '../../../plugins/control/allocation.ts'
import xrpo, { sharpened } from '../../../plugins/control/xrpo-like.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { landed, playRound, type Right } from '../hints/round.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'

const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
const promptAt = (seed: number) => ({ task: task.name, taskVersion: task.version, seed, difficulty: 1 })
const context = () => createScriptedContext({ tasks: [task], limits: { context: 4096, completion: 16 } })
const landing = (right: Right, given = context()) => ({
  context: given,
  task,
  plugin: 'control/xrpo_like',
  right,
})
const first = (right: number[], size: number) =>
  right.map((count, seed) =>
    landed(
      { prompt: promptAt(seed), rollouts: size },
      landing((_after, index) => index < count),
    ),
  )
const never: Right = () => false
const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }

describe('the allocation of xrpo', () => {
  it("has quantiles of Student's t", () => {
    const of = (freedom: number) => tQuantile(0.975, freedom)
    expect(of(1)).toBeCloseTo(12.7062, 4)
    expect(of(2)).toBeCloseTo(4.30265, 5)
    expect(of(3)).toBeCloseTo(3.18245, 5)
    expect(of(4)).toBeCloseTo(2.77645, 5)
    expect(of(7)).toBeCloseTo(2.36462, 5)
    expect(of(1000)).toBeCloseTo(1.96234, 4)
  })

  it('narrows intervals as worked out by hand', () => {
    const one = deviation([1, 0, 0, 0])
    expect(halfWidth(4, one, 0.05)).toBeCloseTo(0.795612, 5)
    expect(halfWidth(5, one, 0.05)).toBeCloseTo(0.620832, 5)
    expect(shrink(4, one, 0.05)).toBeCloseTo(0.17478, 5)
    expect(shrink(4, deviation([1, 0, 1, 0]), 0.05)).toBeCloseTo(0.201818, 5)
    expect(shrink(4, deviation([0, 0, 0, 0]), 0.05)).toBe(0)
    expect(shrink(4, deviation([1, 1, 1, 1]), 0.05)).toBe(0)
  })

  it('spends its budget, on mixed prompts first, and on few rollouts where nothing is mixed', () => {
    const options = { alpha: 0.05, lambda: 0.01 }
    const mixed = allocate(
      [
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [1, 1, 1, 1],
      ],
      2,
      options,
    )
    expect(mixed).toEqual([0, 1, 1, 0])
    const quiet = allocate(
      [
        [0, 0, 0, 0],
        [0, 0],
      ],
      2,
      options,
    )
    expect(quiet).toEqual([0, 2])
    expect(
      allocate(
        [
          [1, 0],
          [1, 1, 0],
        ],
        17,
        options,
      ).reduce((a, b) => a + b),
    ).toBe(17)
    expect(allocate([], 5, options)).toEqual([])
  })

  it('gives every prompt two rollouts before any a third', () => {
    const added = allocate([[1], [], [1, 0, 1]], 3, { alpha: 0.05, lambda: 0.1 })
    expect(added).toEqual([1, 2, 0])
  })
})

describe('xrpo', () => {
  it('has its whole budget written, in rounds, and makes one group a prompt', async () => {
    const { groups, asked } = await playRound(
      withSettings(xrpo, { rounds: 4, extra: 3 }),
      first([0, 1, 2, 4], 4),
      landing(never),
    )
    const written = asked.map((requests) => requests.reduce((sum, { rollouts }) => sum + rollouts, 0))
    expect(written).toEqual([4, 4, 4])
    expect(groups).toHaveLength(4)
    expect(groups.reduce((sum, { rollouts }) => sum + rollouts.length, 0)).toBe(16 + 12)
    for (const { rollouts } of groups) expect(rollouts.length).toBeGreaterThanOrEqual(4)
  })

  it('asks for no more than its tokens allow', async () => {
    const { asked } = await playRound(withSettings(xrpo), first([1, 2], 4), landing(never), 16 * 3)
    expect(asked[0]!.reduce((sum, { rollouts }) => sum + rollouts, 0)).toBe(3)
  })

  it('shows solved problems to prompts without a success, and to no others', async () => {
    const hooks = withSettings(xrpo, { lambda: 100 })
    const seen = context()
    const solved = await playRound(hooks, first([2, 4, 0], 4), landing(never, seen))
    expect(solved.asked.flat().every(({ rewrite }) => rewrite === undefined)).toBe(true)
    expect(seen.metrics.corpus).toBe(2)

    const { groups, asked } = await playRound(hooks, first([0, 0, 0, 1].slice(2), 4), landing(never, seen))
    // Seeds 0 and 1 again: the first without a success, so that the other's solution is shown, and its own never.
    const lost = asked.flat().filter(({ rewrite }) => rewrite)
    expect(lost.length).toBeGreaterThan(0)
    for (const { prompt, rewrite } of lost) {
      expect(prompt.seed).toBe(0)
      expect(rewrite).toMatchObject({ arm: 'icl', tainted: false })
      expect(rewrite!.before).toContain(seen.question(promptAt(1)))
      expect(rewrite!.before).not.toContain(seen.question(promptAt(0)))
      expect(seen.leaks(prompt, rewrite!.before!)).toBe(false)
    }
    const seeded = groups.find(({ prompt }) => prompt.seed === 0)!
    expect(seeded.arm).toBe('icl')
    for (const { arm, conditioning } of seeded.rollouts.slice(4)) {
      expect(arm).toBe('icl')
      expect(conditioning).toEqual(seen.conditioning(promptAt(0), lost[0]!.rewrite))
    }
    expect(seeded.rollouts[0]!.conditioning ?? seeded.conditioning).toEqual(seen.conditioning(promptAt(0)))
  })

  it('goes on with its solved problems from a saved state', async () => {
    const [one, two] = [withSettings(xrpo), withSettings(xrpo)]
    await playRound(one, first([2, 4], 4), landing(never))
    await two.load!((await one.save!())!)
    const ask = async (hooks: typeof one) =>
      (await playRound(hooks, first([0, 0], 4), landing(never))).asked.flat().map(({ rewrite }) => rewrite)
    expect(await ask(two)).toEqual(await ask(one))
    expect((await ask(two)).some((rewrite) => rewrite !== undefined)).toBe(true)
  })
})

describe('the novelty of xrpo', () => {
  const options = { noveltyWeight: 2.5, kappa: 0.5 }

  it('adds up to half of the advantage', () => {
    const of = (eta: number) => sharpened(1, eta, options)
    expect([0.5, 0.9, 1, 1.2].map(of)).toEqual([1.5, 1.25, 1, 1])
    expect(sharpened(0, 0.1, options)).toBe(0)
    for (let eta = 0; eta < 2; eta += 0.05) {
      const boost = sharpened(0.7, eta, options) - 0.7
      expect(boost).toBeGreaterThanOrEqual(0)
      expect(boost).toBeLessThanOrEqual(0.35 + 1e-12)
    }
  })

  const group = (author: string) =>
    groupOf(
      [1, 1, 0, 0].map((reward, i) =>
        rolloutOf(reward, 2, {
          behaviourLogprobs: new Float32Array(2).fill([-0.5, -1.5, -0.8, -1.2][i]!),
        }),
      ),
      { author },
    )
  const modified = async (author: string): Promise<number[]> => {
    const hooks = withSettings(xrpo, { noveltyWeight: 1 })
    await hooks.group!([], { ...view, at: 'batch' }, context())
    const said = [[0.866024, 0.866024, -0.866024, -0.866024]]
    return (await hooks.modify!(said, [group(author)], context()))[0] as number[]
  }

  it('is for unlikely right answers, on top of what the estimator said', async () => {
    const wanted = [0.866024, 1.259493, -0.866024, -0.866024]
    for (const [i, value] of (await modified('self')).entries()) expect(value).toBeCloseTo(wanted[i]!, 5)
  })

  it('is not for what peers wrote', async () => {
    expect(await modified('peer')).toEqual([0.866024, 0.866024, -0.866024, -0.866024])
  })
})
