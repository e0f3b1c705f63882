import { describe, expect, it } from 'vitest'
import sageLight from '../../../plugins/hints/sage-light.ts'
import type { Hooks, Rewrite } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { groupOf, withSettings } from '../samples.ts'
import { promptOf, scripted, task } from './setting.ts'

const HINTS = JSON.stringify({ level_1: 'low', level_2: 'middle', level_3: 'high' })

const shown = async (
  hooks: Hooks,
  context = scripted({ write: () => HINTS }),
): Promise<Rewrite | undefined> => hooks.compose!({ prompt: promptOf(1), question: '', turn: 0 }, context)

/** A visit of the prompt at which this many of 20 rollouts were right. */
function visited(hooks: Hooks, right: number, more: Partial<Group> = {}): void {
  const rewards = Array.from({ length: 20 }, (_, i) => (i < right ? 1 : 0))
  hooks.observe!([groupOf(rewards, { prompt: promptOf(1), ...more })], scripted())
}

async function levelsAfter(settings: Record<string, unknown>, visits: readonly number[]): Promise<number[]> {
  const hooks = withSettings(sageLight, settings)
  const levels: number[] = []
  for (const right of visits) {
    visited(hooks, right)
    levels.push((await shown(hooks))?.level ?? 0)
  }
  return levels
}

describe('SAGE-light', () => {
  it('shows no hint at the first visit', async () => {
    const context = scripted({ write: () => HINTS })
    expect(await shown(withSettings(sageLight), context)).toBeUndefined()
    expect(context.asked).toEqual([])
  })

  it('by the paper goes up while the last visit was bad, never down, and stays within its levels', async () => {
    expect(await levelsAfter({}, [0, 6, 7, 20, 0, 0, 0])).toEqual([1, 2, 2, 2, 3, 3, 3])
  })

  it('by the code goes up and down', async () => {
    expect(await levelsAfter({ rule: 'code' }, [20, 2, 3, 7, 8, 8, 0, 0, 0, 0])).toEqual([
      0, 1, 1, 1, 0, 0, 1, 2, 3, 3,
    ])
    expect(await levelsAfter({ rule: 'code', low: 0 }, [2, 0])).toEqual([0, 1])
  })

  it('shows the hint of its level, written now', async () => {
    const hooks = withSettings(sageLight)
    visited(hooks, 0)
    visited(hooks, 0)
    const context = scripted({ write: () => HINTS })
    expect(await shown(hooks, context)).toEqual({
      after: '\n\nHint: middle',
      arm: 'hint',
      tainted: true,
      level: 2,
    })
    expect(context.asked).toHaveLength(1)
  })

  it('shows the last hints again where new ones cannot be read, and none where there never were any', async () => {
    const hooks = withSettings(sageLight)
    visited(hooks, 0)
    expect(await shown(hooks, scripted({ write: () => 'no' }))).toBeUndefined()
    await shown(hooks)
    visited(hooks, 0)
    expect((await shown(hooks, scripted({ write: () => 'no' })))?.after).toBe('\n\nHint: middle')
  })

  it('decides the same after a restart', async () => {
    const hooks = withSettings(sageLight)
    visited(hooks, 0)
    await shown(hooks)
    visited(hooks, 0)
    const later = withSettings(sageLight)
    await later.load!(await hooks.save!())
    for (const right of [3, 20, 0]) {
      const mute = (): Promise<Rewrite | undefined> => shown(later, scripted({ write: () => '' }))
      expect(await mute()).toEqual(await shown(hooks, scripted({ write: () => '' })))
      for (const each of [hooks, later]) visited(each, right)
      expect(await later.save!()).toEqual(await hooks.save!())
    }
  })

  it('keeps a level of another configuration within its own', async () => {
    const hooks = withSettings(sageLight)
    for (let i = 0; i < 3; i++) visited(hooks, 0)
    const small = withSettings(sageLight, { levels: 1, writer: 'solution' })
    await small.load!(await hooks.save!())
    expect((await shown(small))?.level).toBe(1)
  })

  it('forgets the prompt that was away the longest', async () => {
    const hooks = withSettings(sageLight, { remembered: 2 })
    visited(hooks, 0)
    for (const seed of [2, 3]) visited(hooks, 0, { prompt: promptOf(seed) })
    expect(await shown(hooks)).toBeUndefined()
  })

  it('counts what the round itself asked, whatever else stands around it, and nothing that a plugin asked for', async () => {
    const hooks = withSettings(sageLight)
    visited(hooks, 0, { arm: 'reflect', origin: { plugin: 'replay/r3_like', request: '0' } })
    expect(await shown(hooks)).toBeUndefined()
    visited(hooks, 0, { arm: 'skill', origin: { plugin: 'skill/arise' } })
    expect((await shown(hooks))?.level).toBe(1)
  })

  it('hints nothing in evaluation', async () => {
    const hooks = withSettings(sageLight, { writer: 'solution' })
    visited(hooks, 0)
    expect(await shown(hooks, scripted({ phase: 'eval' }))).toBeUndefined()
    expect(sageLight.manifest?.testTime ?? 'never').toBe('never')
    const { steps } = task.generate(promptOf(1))
    expect((await shown(hooks))?.after).toContain(steps[0]!.text)
  })
})
