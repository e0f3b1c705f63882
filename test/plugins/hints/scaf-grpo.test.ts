import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import scaf from '../../../plugins/hints/scaf-grpo.ts'
import { bankOf, TIERS } from '../../../plugins/hints/worked.ts'
import type { Request } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { scoresOf, withSettings } from '../samples.ts'
import { playRound, type Right } from './round.ts'
import { G, promptOf, stage, task } from './setting.ts'

const NAME = 'hint/scaf_grpo'
const LATER = { step: 50 }
const never: Right = () => false
const hinted: Right = (after) => after !== ''

/** Tier and number of items of a request's hints. */
const placeOf = ({ rewrite }: Request): string => {
  const text = rewrite!.after!
  return `${/(\w+) Hints/.exec(text)![1]!.toLowerCase()} ${text.match(/^\d+\. /gm)!.length}`
}
const PLACES = TIERS.flatMap((tier) => {
  const { question, steps } = task.generate(promptOf(1))
  return bankOf(question, steps, () => false)[tier].map((_, i) => `${tier} ${i + 1}`)
})

describe('Scaf-GRPO', () => {
  it('gives no hints while it exempts', async () => {
    const { plain, landing } = stage(NAME, [1], hinted, { step: 49 })
    const { groups, asked } = await playRound(withSettings(scaf), plain, landing)
    expect([groups, asked]).toEqual([plain, []])
    expect((await playRound(withSettings(scaf, { exemption: 49 }), plain, landing)).asked).not.toEqual([])
  })

  it('tries tier after tier, with more and more of each, one rollout at a time', async () => {
    const { plain, landing } = stage(NAME, [1], never, LATER)
    const { groups, asked } = await playRound(withSettings(scaf), plain, landing)
    expect(asked.map((requests) => requests.map(placeOf))).toEqual(PLACES.map((place) => [place]))
    expect(asked.length).toBeGreaterThan(6)
    expect(asked.length).toBeLessThanOrEqual(12)
    expect(asked.flat().every(({ rollouts, keep }) => rollouts === 1 && keep === 'probe')).toBe(true)
    expect(groups).toEqual(plain)
  })

  it.each([false, true])('stops at the first success in order (all at once: %s)', async (parallel) => {
    const wanted = new Set([PLACES[3], PLACES[4], PLACES[6]])
    const right: Right = (after) => after !== '' && wanted.has(placeOf({ rewrite: { after } } as Request))
    const { plain, landing } = stage(NAME, [1], right, LATER)
    const { groups, asked } = await playRound(withSettings(scaf, { parallel }), plain, landing)
    expect(asked.flat()).toHaveLength(parallel ? PLACES.length : 4)
    expect(groups[0]?.origin).toEqual({ plugin: NAME, parent: plain[0]!.id, level: 4 })
  })

  it('replaces one failure, which alone is conditioned on the hint', async () => {
    const { plain, landing, context } = stage(NAME, [1], hinted, LATER)
    const { groups, asked } = await playRound(withSettings(scaf, { replace: 'first' }), plain, landing)
    const [group] = groups as [Group]
    expect(groups).toHaveLength(1)
    expect(group).toMatchObject({ arm: 'base', tainted: true })
    expect(group.id).not.toBe(plain[0]!.id)
    expect(group.rollouts).toHaveLength(G)
    expect(group.rollouts.slice(1)).toEqual(plain[0]!.rollouts.slice(1))
    expect(group.rollouts[0]).toMatchObject({ arm: 'hint', reward: 1 })
    expect(group.rollouts[0]?.conditioning).toEqual(context.conditioning(promptOf(1), asked[0]![0]!.rewrite))
    expect(group.conditioning).toEqual(plain[0]!.conditioning)
    const rewards = group.rollouts.map(({ reward }) => reward)
    const advantages = await scoresOf(withSettings(grpo, { std: 'population', epsilon: 0 }), rewards)
    for (const [i, value] of advantages.entries()) expect(value).toBeCloseTo(i === 0 ? 2.6458 : -0.378, 4)
  })

  it('replaces a failure that the seed decides', async () => {
    const place = async (seed: number): Promise<number> => {
      const { plain, landing } = stage(NAME, [1], hinted, { ...LATER, seed })
      const { groups } = await playRound(withSettings(scaf), plain, landing)
      return groups[0]!.rollouts.findIndex(({ arm }) => arm === 'hint')
    }
    const places = await Promise.all(Array.from({ length: 40 }, (_, seed) => place(seed)))
    expect(new Set(places).size).toBe(G)
    expect(await place(7)).toBe(places[7])
  })

  it('lets the loss see the bare question where it is told to', async () => {
    const { plain, landing } = stage(NAME, [1], hinted, LATER)
    const { groups } = await playRound(
      withSettings(scaf, { lossSees: 'bare', replace: 'first' }),
      plain,
      landing,
    )
    expect(groups[0]?.rollouts[0]).toMatchObject({ arm: 'hint', reward: 1 })
    expect(groups[0]?.rollouts[0]?.conditioning).toBeUndefined()
  })

  it('leaves groups alone that have a success', async () => {
    const { plain, landing } = stage(NAME, [1, 2], (_, i) => i === 3, LATER)
    const { groups, asked } = await playRound(withSettings(scaf), plain, landing)
    expect([groups, asked]).toEqual([plain, []])
  })

  it('asks question and hints in blocks of their own, and tells no answer', async () => {
    const { plain, landing, context } = stage(NAME, [1], never, LATER)
    const { asked } = await playRound(withSettings(scaf), plain, landing)
    for (const { rewrite } of asked.flat()) {
      expect(rewrite!.before).toBe('Question:\n')
      expect(rewrite!.after).toMatch(/^\n\n(Knowledge|Planning|Solution) Hints:\n1\. /)
      expect(context.leaks(promptOf(1), rewrite!.after!)).toBe(false)
    }
  })
})
