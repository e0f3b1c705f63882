import { describe, expect, it } from 'vitest'
import uniform from '../../../plugins/selectors/uniform.ts'
import type { Ask } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { contextOf, withSettings } from '../samples.ts'

const task = (name: string) => ({ name, version: 1, difficulty: 2, minDifficulty: 0, maxDifficulty: 5 })
const view = { tasks: [task('a'), task('b'), task('c')], rollouts: 8 }
const ask = (hooks: ReturnType<typeof withSettings>, want: number, step = 0): Ask[] =>
  hooks.select!(view, want, contextOf(step)) as Ask[]

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
