import { describe, expect, it } from 'vitest'
import uniform from '../../../plugins/selectors/uniform.ts'
import type { PromptRequest } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { contextOf, withSettings } from '../samples.ts'

const task = (name: string) => ({ name, version: 1, difficulty: 2, minDifficulty: 0, maxDifficulty: 5 })
const view = { tasks: [task('a'), task('b'), task('c')], rollouts: 8 }
const ask = (hooks: ReturnType<typeof withSettings>, want: number, step = 0): PromptRequest[] =>
  hooks.select!(view, want, contextOf(step)) as PromptRequest[]

describe('uniform', () => {
  it('takes tasks in turn, from one call to the next', () => {
    const hooks = withSettings(uniform)
    const names = [...ask(hooks, 4), ...ask(hooks, 3)].map(({ prompt }) => prompt.task)
    expect(names).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a'])
  })

  it('asks for what the config asks for', () => {
    expect(ask(withSettings(uniform), 1)[0]).toMatchObject({
      rollouts: 8,
      prompt: { task: 'a', taskVersion: 1, difficulty: 2 },
    })
  })

  it('draws training seeds only, all over their range and new ones at every call', () => {
    const hooks = withSettings(uniform)
    const seeds = Array.from({ length: 50 }, () => ask(hooks, 10).map(({ prompt }) => prompt.seed)).flat()
    expect(new Set(seeds).size).toBe(500)
    for (const seed of seeds) expect(Number.isInteger(seed) && seed >= 0 && seed < HELD_OUT_SEED).toBe(true)
    expect(Math.max(...seeds)).toBeGreaterThan(HELD_OUT_SEED * 0.9)
    expect(Math.min(...seeds)).toBeLessThan(HELD_OUT_SEED * 0.1)
  })

  it('repeats itself from the same step', () => {
    expect(ask(withSettings(uniform), 5, 3)).toEqual(ask(withSettings(uniform), 5, 3))
    expect(ask(withSettings(uniform), 5, 3)).not.toEqual(ask(withSettings(uniform), 5, 4))
  })

  it('asks for nothing where there are no tasks', () => {
    expect(withSettings(uniform).select!({ tasks: [], rollouts: 8 }, 4, contextOf())).toEqual([])
  })
})

describe('uniform with a fixed set of prompts', () => {
  const candidates = Array.from({ length: 6 }, (_, seed) => ({
    task: 'a',
    taskVersion: 1,
    seed,
    difficulty: 2,
  }))
  const pick = (settings: object, weights: number[] | undefined, want: number, step = 0): number[] => {
    const given = weights ? { weights: Float64Array.from(weights) } : {}
    const asks = withSettings(uniform, { ...settings }).select!(
      { ...view, candidates, ...given },
      want,
      contextOf(step),
    ) as PromptRequest[]
    return asks.map(({ prompt }) => prompt.seed)
  }

  it('asks each once before any twice', () => {
    for (let step = 0; step < 10; step++) {
      expect(new Set(pick({}, undefined, 6, step)).size).toBe(6)
      expect(new Set(pick({}, undefined, 9, step).slice(0, 6)).size).toBe(6)
    }
  })

  it('draws by weight, and nothing of weight 0', () => {
    const times = [0, 0, 0, 0, 0, 0]
    for (let step = 0; step < 600; step++) times[pick({}, [3, 1, 0, 0, 0, 0], 1, step)[0]!]! += 1
    expect(times.slice(2)).toEqual([0, 0, 0, 0])
    expect(times[0]! / times[1]!).toBeGreaterThan(2.2)
    expect(times[0]! / times[1]!).toBeLessThan(4)
  })

  it('takes the heaviest where it is told to', () => {
    expect(pick({ pick: 'top' }, [0.1, 0.5, 0.2, 0.9, 0, 0.3], 3)).toEqual([3, 1, 5])
  })
})
