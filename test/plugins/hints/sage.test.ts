import { describe, expect, it } from 'vitest'
import sage from '../../../plugins/hints/sage.ts'
import { isZeroSignal } from '../../../protocol/train/index.ts'
import { withSettings } from '../samples.ts'
import { landed, playRound, type Right } from './round.ts'
import { G, promptOf, stage, task } from './setting.ts'

const NAME = 'hint/sage'
const HINTS = JSON.stringify({ level_1: 'low', level_2: 'middle', level_3: 'high' })
const under =
  (word: string): Right =>
  (after, i) =>
    after.includes(word) && i < 2

describe('SAGE', () => {
  it('asks for no hint where a rollout was right', async () => {
    const { plain, landing, context } = stage(NAME, [1, 2], (_, i) => i === 7, { write: () => HINTS })
    const { groups, asked } = await playRound(withSettings(sage), plain, landing)
    expect([groups, asked, context.asked]).toEqual([plain, [], []])
  })

  it('climbs level by level and stops at the first success', async () => {
    const { plain, landing, context } = stage(NAME, [1], under('middle'), { write: () => HINTS })
    const { groups, asked } = await playRound(withSettings(sage), plain, landing)
    expect(context.asked).toHaveLength(1)
    expect(context.asked[0]).toMatchObject({ n: 1 })
    expect(context.asked[0]?.role).toBeUndefined()
    expect(asked.map((requests) => requests.map(({ rewrite }) => rewrite?.level))).toEqual([[1], [2]])
    expect(context.metrics).toEqual({ prompts: 1, solved: 1, written: 1, readable: 1 })
    expect(groups).toHaveLength(1)
    expect(groups[0]).toMatchObject({
      arm: 'hint',
      tainted: true,
      origin: { request: '0:2', parent: plain[0]!.id },
    })
    expect(groups[0]?.rollouts).toHaveLength(G)
    expect(groups[0]?.conditioning).toEqual(context.conditioning(promptOf(1), { after: '\n\nHint: middle' }))
    expect(groups[0]?.rollouts.every(({ conditioning }) => conditioning === undefined)).toBe(true)
  })

  it('rolls out only prompts that are still unsolved', async () => {
    const right: Right = (after, i, { seed }) => i === 0 && after.includes(seed === 1 ? 'low' : 'high')
    const { plain, landing } = stage(NAME, [1, 2], right, { write: () => HINTS })
    const { groups, asked } = await playRound(withSettings(sage), plain, landing)
    expect(asked.map((requests) => requests.map(({ prompt }) => prompt.seed))).toEqual([[1, 2], [2], [2]])
    expect(groups.map(({ prompt, origin }) => [prompt.seed, origin?.request])).toEqual([
      [1, '0:1'],
      [2, '1:3'],
    ])
  })

  it('leaves the group of the last level where none brings a success, without a signal', async () => {
    const { plain, landing } = stage(NAME, [1], () => false, { write: () => HINTS })
    const { groups, asked } = await playRound(withSettings(sage), plain, landing)
    expect(asked.flat()).toHaveLength(3)
    expect(asked.flat().reduce((sum, { rollouts }) => sum + rollouts, 0)).toBe(3 * G)
    expect(groups[0]?.origin?.request).toBe('0:3')
    expect(isZeroSignal(groups[0]!.rollouts.map(({ reward }) => reward))).toBe(true)
  })

  it('judges hinted rollouts as it judges plain ones', () => {
    const { landing } = stage(NAME, [], (_, i) => i % 2 === 0)
    const rewardsOf = (after: string): number[] =>
      landed(
        { prompt: promptOf(4), rollouts: G, rewrite: { after, arm: 'hint', tainted: true } },
        landing,
      ).rollouts.map(({ reward }) => reward)
    expect(rewardsOf('high')).toEqual(rewardsOf(''))
  })

  it('tries three times to get hints that can be read, then keeps the group', async () => {
    for (const [readable, tries] of [
      [2, 3],
      [3, 3],
    ] as const) {
      let written = 0
      const { plain, landing, context } = stage(NAME, [1], under('low'), {
        write: () => (written++ >= readable ? HINTS : 'no'),
      })
      const { groups } = await playRound(withSettings(sage), plain, landing)
      expect(context.asked).toHaveLength(tries)
      expect(groups[0]?.arm).toBe(readable < tries ? 'hint' : 'base')
      if (readable === tries) expect(groups).toEqual(plain)
    }
  })

  it('leaves a level out that gives the answer away', async () => {
    const { key } = task.generate(promptOf(1))
    const write = (): string =>
      JSON.stringify({ level_1: 'low', level_2: `it comes to ${key}`, level_3: 'high' })
    const { plain, landing } = stage(NAME, [1], () => false, { write })
    const { asked } = await playRound(withSettings(sage), plain, landing)
    expect(asked.flat().map(({ rewrite }) => rewrite?.level)).toEqual([1, 3])
  })

  it('makes hints from the working, without asking the policy, where it is too small to write any', async () => {
    const { plain, landing, context } = stage(NAME, [1], () => false)
    const { asked } = await playRound(withSettings(sage, { writer: 'solution' }), plain, landing)
    expect(context.asked).toEqual([])
    const texts = asked.flat().map(({ rewrite }) => rewrite!.after!)
    expect(texts).toHaveLength(3)
    for (const [i, text] of texts.entries()) {
      expect(text.startsWith(i === 0 ? '\n\nHint: ' : texts[i - 1]!)).toBe(true)
      expect(context.leaks(promptOf(1), text)).toBe(false)
    }
  })

  it('hints as many prompts as the budget pays for', async () => {
    const { plain, landing } = stage(NAME, [1, 2, 3], () => false, {
      limits: { context: 4096, completion: 100 },
    })
    const settings = { writer: 'solution', levels: 2 }
    const { asked } = await playRound(withSettings(sage, settings), plain, landing, 2 * 2 * G * 100)
    expect(asked[0]).toHaveLength(2)
  })
})

describe('what a group can teach', () => {
  it('is most at a pass rate of one half, and little far from it', () => {
    const mixed = (p: number): number => 1 - (1 - p) ** G - p ** G
    for (const [p, chance] of [
      [0.01, 0.077255],
      [0.05, 0.33658],
      [0.1, 0.569533],
      [0.5, 0.992188],
    ] as const)
      expect(mixed(p)).toBeCloseTo(chance, 6)
  })
})
