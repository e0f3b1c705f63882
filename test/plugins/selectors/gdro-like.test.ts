import { describe, expect, it } from 'vitest'
import gdroLike, { spread } from '../../../plugins/selectors/gdro-like.ts'
import type { Hooks, PromptRequest, SelectView } from '../../../protocol/plugin/index.ts'
import { contextOf, groupOf, withSettings } from '../samples.ts'

const task = { name: 'a', version: 1, difficulty: 2, minDifficulty: 0, maxDifficulty: 3 }
const view: SelectView = { tasks: [task], rollouts: 4 }
const ask = (hooks: Hooks, want: number, given: SelectView = view, step = 0): PromptRequest[] =>
  hooks.select!(given, want, contextOf(step)) as PromptRequest[]
const at = (difficulty: number) => ({ task: 'a', taskVersion: 1, seed: 1, difficulty })
const see = (hooks: Hooks, difficulty: number, rewards: number[], times = 1): void => {
  for (let i = 0; i < times; i++) hooks.observe!([groupOf(rewards, { prompt: at(difficulty) })], contextOf())
}
const levelsOf = (asks: readonly PromptRequest[]): number[] =>
  [0, 1, 2, 3].map((level) => asks.filter(({ prompt }) => prompt.difficulty === level).length)

describe('the curriculum', () => {
  it('asks all levels evenly before anything is known', () => {
    expect(levelsOf(ask(withSettings(gdroLike), 40))).toEqual([10, 10, 10, 10])
  })

  it('gives each level the share that its score earns', () => {
    // One group each at rate 1: variances 0, 1/3 and 1/4 (of 4 right out of 4, 2 out of 4, 1 out of 4), and one level
    // unseen. Scores 0, 1, 1, 1; with sharpness ln 3 the weights are 1, 3, 3, 3, and 20 % is spread evenly.
    const hooks = withSettings(gdroLike, { rate: 1, sharpness: Math.log(3), mix: 0.2 })
    see(hooks, 0, [1, 1, 1, 1])
    see(hooks, 1, [1, 1, 0, 0])
    see(hooks, 2, [1, 0, 0, 0])
    expect(levelsOf(ask(hooks, 100))).toEqual([13, 29, 29, 29])
  })

  it('leaves a level that is solved or out of reach, and comes back to see', () => {
    const hooks = withSettings(gdroLike)
    see(hooks, 0, [1, 1, 1, 1], 30)
    see(hooks, 1, [1, 0, 1, 0], 30)
    see(hooks, 2, [0, 0, 0, 0], 30)
    see(hooks, 3, [0, 0, 0, 0], 30)
    const [solved, mixed, ...beyond] = levelsOf(ask(hooks, 100))
    expect(mixed).toBeGreaterThan(85)
    for (const count of [solved, ...beyond]) expect(count).toBeGreaterThan(1)
  })

  it('by failure stays at what is out of reach', () => {
    const hooks = withSettings(gdroLike, { by: 'failure', levels: 'all' })
    for (const [level, rewards] of [
      [1, 1],
      [1, 0],
      [0, 0],
      [0, 0],
    ].entries())
      see(hooks, level, rewards, 40)
    const [solved, mixed, ...beyond] = levelsOf(ask(hooks, 100))
    expect(solved).toBeLessThan(mixed!)
    for (const count of beyond) expect(count).toBeGreaterThan(mixed!)
  })

  it('keeps to the configured levels where told to', () => {
    const asks = ask(withSettings(gdroLike, { levels: 'configured' }), 10)
    expect(levelsOf(asks)).toEqual([0, 0, 10, 0])
  })

  it('weighs tasks against each other, each with its levels', () => {
    const hooks = withSettings(gdroLike, { levels: 'configured', rate: 1 })
    see(hooks, 2, [0, 0, 0, 0])
    const both = { ...view, tasks: [task, { ...task, name: 'b' }] }
    const asks = ask(hooks, 100, both)
    expect(asks.filter(({ prompt }) => prompt.task === 'b').length).toBeGreaterThan(90)
  })

  it('draws from a fixed set, by the weights of other plugins within a bin', () => {
    const candidates = [0, 1, 2].map((seed) => ({ ...at(2), seed }))
    const weights = Float64Array.of(0, 1, 0)
    const asks = ask(withSettings(gdroLike), 3, { ...view, candidates, weights })
    expect(asks.map(({ prompt }) => prompt.seed)).toEqual([1, 1, 1])
  })

  it('learns nothing from hinted, borrowed and single answers', () => {
    const hooks = withSettings(gdroLike, { rate: 1 })
    hooks.observe!(
      [groupOf([0, 0], { prompt: at(0), arm: 'hint' }), groupOf([0], { prompt: at(1) })],
      contextOf(),
    )
    expect(levelsOf(ask(hooks, 8))).toEqual([2, 2, 2, 2])
  })

  it('leaves a level of which nothing ever comes back', () => {
    const hooks = withSettings(gdroLike)
    const answered = [0, 1, 2]
    for (let step = 0; step < 40; step++)
      for (const { prompt } of ask(hooks, 8, view, step))
        if (answered.includes(prompt.difficulty)) see(hooks, prompt.difficulty, [1, 0, 0, 0])
    expect(levelsOf(ask(hooks, 100, view, 40))[3]).toBeLessThan(8)
  })

  it('asks the same again from its saved state', () => {
    const hooks = withSettings(gdroLike)
    see(hooks, 1, [1, 0, 0, 0], 3)
    ask(hooks, 4)
    const copy = withSettings(gdroLike)
    copy.load!(hooks.save!() as Uint8Array)
    expect(ask(copy, 8)).toEqual(ask(hooks, 8))
  })
})

describe('the allocation of rollouts', () => {
  it('follows the square root of the variance, at the same mean', () => {
    // sqrt(v) is 0.5 and 0.25, so that n is 16 times 2/3 and 1/3 of 2 = 10.7 and 5.3 at a mean of 8.
    expect(spread([0.25, 0.0625], 8)).toEqual([11, 5])
    expect(spread([0.25, 0.25, 0.25], 8)).toEqual([8, 8, 8])
  })

  it('gives no prompt less than half the mean or more than twice as many', () => {
    expect(spread([0.25, 0, 0, 0], 8)).toEqual([16, 6, 5, 5])
    expect(spread([0.25, 0], 4)).toEqual([6, 2])
  })

  it('is even where nothing has a signal, and leaves single rollouts single', () => {
    expect(spread([0, 0, 0], 4)).toEqual([4, 4, 4])
    expect(spread([0.25, 0], 1)).toEqual([1, 1])
    expect(spread([], 8)).toEqual([])
  })
})
