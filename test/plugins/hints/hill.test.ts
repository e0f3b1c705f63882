import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import hill from '../../../plugins/hints/hill.ts'
import { probabilityTerm, transferWeight } from '../../../plugins/hints/hill-reward.ts'
import type { CommitReport, Hooks, RoleGroup } from '../../../protocol/plugin/index.ts'
import { textOf } from '../../../protocol/plugin/testing/index.ts'
import { scoresOf, withSettings } from '../samples.ts'
import { playRound, type Right } from './round.ts'
import { G, promptOf, scripted, stage, task } from './setting.ts'

const NAME = 'hint/hill'
const REPORT: CommitReport = { step: 1, metrics: {}, groups: [], advantages: [] }
const never: Right = () => false

/** Right in the first `k` rollouts under the hint called `w<k>`, never without a hint. */
const asNamed: Right = (after, i) => i < Number(/w(\d)/.exec(after)?.[1] ?? 0)

/** A hinter whose text m is the m-th of these, in tags. */
const hinter =
  (hints: readonly string[]) =>
  (prompt: string, { index }: { role: string; index: number }) =>
    prompt === '' ? '' : `<analysis>It adds too soon.</analysis>\n<hint>${hints[index]}</hint>`

async function learnt(hooks: Hooks): Promise<RoleGroup[]> {
  return (await hooks.commit!(REPORT, scripted()))?.train ?? []
}

describe('the reward of a hint in HiLL', () => {
  it('is the chance of a mixed group times a weight that is never above 1', () => {
    const terms = Array.from({ length: 9 }, (_, k) => probabilityTerm('non_deg', k, 8))
    const known = [0, 0.656391, 0.899872, 0.976326, 0.992188, 0.976326, 0.899872, 0.656391, 0]
    for (const [k, term] of terms.entries()) expect(term).toBeCloseTo(known[k]!, 6)
    const weights = [-0.1, 0, 0.05, 0.1, 0.3, 0.6].map((reliance) => transferWeight(reliance, 0.3))
    for (const [i, weight] of [1, 1, 0.846482, 0.716531, 0.367879, 0.135335].entries())
      expect(weights[i]).toBeCloseTo(weight, 6)
    for (let reliance = -5; reliance < 5; reliance += 0.1)
      expect(transferWeight(reliance, 0.3)).toBeLessThanOrEqual(1)
    expect(transferWeight(undefined, 0.3)).toBe(1)
    expect(probabilityTerm('variance', 2, 8)).toBeCloseTo(0.1875, 9)
    expect(probabilityTerm('transfer_weighted_variance', 8, 8)).toBe(0)
  })

  it('follows from a bound that holds for sums of log-probs', () => {
    const plain = { a: 0.01, b: 0.04, wrong: 0.95 }
    const hinted = { a: 0.3, b: 0.2, wrong: 0.5 }
    const p = plain.a + plain.b
    const withHint = hinted.a + hinted.b
    const reliance =
      (hinted.a * Math.log(hinted.a / plain.a) + hinted.b * Math.log(hinted.b / plain.b)) / withHint
    expect(reliance).toBeCloseTo(2.68449, 5)
    expect(withHint * Math.exp(-reliance)).toBeCloseTo(0.0341, 4)
    expect(withHint * Math.exp(-reliance)).toBeLessThanOrEqual(p)
  })
})

describe('HiLL', () => {
  /** Four hints: a leak, one that brings nothing, one success, four successes that rely on the hint. */
  async function scenario(settings: Record<string, unknown> = {}) {
    const { key } = task.generate(promptOf(3))
    const hooks = withSettings(hill, settings)
    const { plain, landing, context } = stage(NAME, [3], asNamed, {
      write: hinter([`The answer: ${key}`, 'w0 look', 'w1 look', 'w4 look']),
      logprobs: ({ conditioning, completion }) =>
        Array.from(completion, () => (conditioning.includes('w4') ? -0.4 : -1)),
    })
    return { hooks, plain, context, round: await playRound(hooks, plain, landing) }
  }

  it('weighs what a hint brings against how much the answers rely on it', async () => {
    const { hooks, round } = await scenario()
    expect(round.asked[0]?.map(({ rewrite }) => rewrite?.after)).toEqual([
      '\n\nw0 look',
      '\n\nw1 look',
      '\n\nw4 look',
    ])
    expect(round.groups.map(({ rollouts }) => rollouts.reduce((sum, one) => sum + one.reward, 0))).toEqual([
      1,
    ])
    const [group, ...others] = await learnt(hooks)
    expect(others).toEqual([])
    const rewards = group!.rollouts.map(({ reward }) => reward)
    for (const [i, reward] of [-0.2, 0, 0.656391, 0.134278].entries())
      expect(rewards[i]).toBeCloseTo(reward, 6)
    const sample = await scoresOf(withSettings(grpo, { epsilon: 0 }), rewards)
    const population = await scoresOf(withSettings(grpo, { epsilon: 0, std: 'population' }), rewards)
    for (const [i, value] of [-0.9502, -0.4036, 1.3903, -0.0366].entries())
      expect(sample[i]).toBeCloseTo(value, 4)
    for (const [i, value] of [-1.0971, -0.466, 1.6054, -0.0423].entries())
      expect(population[i]).toBeCloseTo(value, 4)
  })

  it('takes the most mixed group where reliance does not count', async () => {
    const { round } = await scenario({ reward: 'non_deg' })
    expect(round.groups[0]?.rollouts.filter(({ reward }) => reward === 1)).toHaveLength(4)
  })

  it('puts one hinted group, whole and under one conditioning, in the place of the plain one', async () => {
    const { round, context } = await scenario()
    const [group] = round.groups
    expect(group).toMatchObject({ arm: 'hint', tainted: true })
    expect(group?.rollouts).toHaveLength(G)
    expect(group?.rollouts.every(({ conditioning }) => conditioning === undefined)).toBe(true)
    expect(textOf(group!.conditioning)).toBe(`${context.question(promptOf(3))}\n\nw1 look`)
  })

  it('gives the hinter the log-probs of the weights that wrote the hints, at the temperature of then', async () => {
    let version = 1
    const hooks = withSettings(hill, { hinterTemperature: 0.7 })
    const { plain, landing } = stage(NAME, [3], asNamed, {
      write: hinter(['w1', 'w2', 'w3', 'w4']),
      logprobs: ({ completion }) => Array.from(completion, () => -version),
    })
    await playRound(hooks, plain, landing)
    version = 2
    const [group] = await learnt(hooks)
    expect(group?.role).toBe('hinter')
    for (const { logprobs, tokens, temperature } of group!.rollouts) {
      expect(temperature).toBe(0.7)
      expect(logprobs).toHaveLength(tokens.length)
      expect(new Set(logprobs)).toEqual(new Set([-1]))
    }
    expect(await learnt(hooks)).toEqual([])
  })

  it('leaves groups alone that have a success, and then asks for nothing', async () => {
    const hooks = withSettings(hill)
    const { plain, landing, context } = stage(NAME, [1, 2], (_, i, { seed }) => seed === 1 || i === 0)
    const { groups, asked } = await playRound(hooks, plain, landing)
    expect(groups).toEqual(plain)
    expect([asked, context.asked, await learnt(hooks)]).toEqual([[], [], []])
  })

  it('leaves too few all-wrong prompts alone where it is told to', async () => {
    const { plain, landing, context } = stage(NAME, [1, 2], never, {
      write: hinter(['w1', 'w1', 'w1', 'w1']),
    })
    await playRound(withSettings(hill, { leastPrompts: 3 }), plain, landing)
    expect(context.asked).toEqual([])
    await playRound(withSettings(hill, { leastPrompts: 2 }), plain, landing)
    expect(context.asked.map(({ role, n }) => ({ role, n }))).toEqual(Array(2).fill({ role: 'hinter', n: 4 }))
  })

  it.each([
    ['has no tags', 'w4 without tags'],
    ['has empty tags', '<hint> </hint>'],
    ['is too long', `<hint>w4 ${'long '.repeat(300)}</hint>`],
    ['brings nothing', '<hint>w0</hint>'],
    ['brings all', '<hint>w8</hint>'],
  ])('keeps the plain group where every hint %s', async (_, text) => {
    const hooks = withSettings(hill, { promptTokens: 400, hinterTokens: 4000 })
    const { plain, landing } = stage(NAME, [5], asNamed, {
      write: () => text,
      limits: { context: 9000, completion: 4000 },
    })
    const { groups } = await playRound(hooks, plain, landing)
    expect(groups).toEqual(plain)
    expect(await learnt(hooks)).toEqual([])
  })

  it('takes hints in tags of any case over several lines', async () => {
    const { plain, landing } = stage(NAME, [5], asNamed, {
      write: () => 'so\n<HINT>\nw2\nlines </Hint> <hint>w8</hint>',
    })
    const { asked } = await playRound(withSettings(hill), plain, landing)
    expect(asked[0]?.[0]?.rewrite?.after).toBe('\n\nw2\nlines')
  })

  it('shows the hinter a failed rollout that the seed alone decides', async () => {
    const shown = async (seed: number): Promise<string[]> => {
      const { plain, landing, context } = stage(NAME, [1, 2, 3], never, { seed, write: () => '' })
      await playRound(withSettings(hill, { form: 'short' }), plain, landing)
      return context.asked.map(({ prompt }) => /plain (\d)/.exec(prompt)![1]!)
    }
    expect(await shown(1)).toEqual(await shown(1))
    const seen = new Set((await Promise.all(Array.from({ length: 30 }, (_, seed) => shown(seed)))).flat())
    expect(seen.size).toBe(G)
  })

  it.each(['full', 'short'] as const)(
    'gives the hinter question, attempt and solution in a %s prompt that fits',
    async (form) => {
      const { plain, landing, context } = stage(NAME, [1], never, {
        write: () => '',
        limits: { context: 2400, completion: 200 },
      })
      plain[0]!.rollouts = plain[0]!.rollouts.map((one) => ({
        ...one,
        text: `begin ${'x'.repeat(5000)} end`,
      }))
      await playRound(withSettings(hill, { form }), plain, landing)
      const { prompt } = context.asked[0]!
      expect(prompt.length).toBeLessThanOrEqual(2200)
      for (const part of [
        context.question(promptOf(1)),
        'begin',
        ' end',
        ...task.generate(promptOf(1)).steps.map(({ text }) => text),
      ])
        expect(prompt).toContain(part)
    },
  )

  it('calls nobody in evaluation', async () => {
    const hooks = withSettings(hill)
    expect(hooks.compose).toBeUndefined()
    const { plain, landing, context } = stage(NAME, [1], never, { phase: 'eval' })
    expect((await playRound(hooks, plain, landing)).asked).toEqual([])
    expect(context.asked).toEqual([])
  })

  it('hints as many prompts as the budget pays for', async () => {
    const { plain, landing, context } = stage(NAME, [1, 2, 3], never, {
      write: () => '',
      limits: { context: 4096, completion: 100 },
    })
    await playRound(withSettings(hill, { hinterTokens: 100 }), plain, landing, 2 * 4 * (100 + G * 100))
    expect(context.asked).toHaveLength(2)
  })
})
