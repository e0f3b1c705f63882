import { describe, expect, it } from 'vitest'
import hatch, { annealed } from '../../../plugins/hints/hatch.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
import { scripted } from './setting.ts'

const hintedGroup = (more: Partial<Group> = {}): Group =>
  groupOf([1, 0], { arm: 'hint', origin: { plugin: 'hint/sage', parent: 'p' }, ...more })
const withSuccess = groupOf([rolloutOf(1, 1, { arm: 'hint' }), 0], {
  tainted: true,
  origin: { plugin: 'hint/scaf_grpo', parent: 'p' },
})
const mixed = groupOf([1, 0])
const wrong = groupOf([0, 0])
const solved = groupOf([1, 1])

async function factor(hooks: Hooks, group: Group = hintedGroup()): Promise<number> {
  const [row] = await hooks.modify!([[2, new Float32Array([1, -1])]], [group], scripted())
  expect((row![1] as Float32Array)[0]! * 2).toBeCloseTo(row![0] as number, 6)
  return (row![0] as number) / 2
}

describe('the annealer of HATCH', () => {
  it('falls with the share of prompts that are all wrong, to the fifth power', () => {
    for (const [share, beta] of [
      [0.9, 0.59049],
      [0.5, 0.03125],
      [0.1, 1e-5],
    ] as const)
      expect(annealed(share, 1 - share, { gamma: 5, kappa: 1 })).toBeCloseTo(beta, 7)
    expect(annealed(0.9, 0.1, { gamma: 5, kappa: 3 })).toBe(1)
    expect(annealed(0, 0, { gamma: 5, kappa: 1 })).toBe(0)
  })

  it('scales hinted groups, whole ones and those with a hinted success, and no other', async () => {
    const hooks = withSettings(hatch, { gamma: 1 })
    expect(await factor(hooks)).toBe(1)
    await hooks.observe!([wrong, mixed, solved, solved], scripted())
    expect(await factor(hooks)).toBeCloseTo(0.5, 6)
    expect(await factor(hooks, withSuccess)).toBeCloseTo(0.5, 6)
    expect(await factor(hooks, hintedGroup({ arm: 'skill+hint' }))).toBeCloseTo(0.5, 6)
    expect(await factor(hooks, mixed)).toBe(1)
    expect(await factor(hooks, groupOf([1, 0], { arm: 'skill' }))).toBe(1)
  })

  it('counts a hinted group for the plain one that it stands in for', async () => {
    const hooks = withSettings(hatch, { gamma: 1 })
    await hooks.observe!([hintedGroup(), withSuccess, wrong, mixed], scripted())
    expect(await factor(hooks)).toBeCloseTo(0.75, 6)
  })

  it('learns nothing from prompts that were hinted before they failed', async () => {
    const hooks = withSettings(hatch, { gamma: 1 })
    await hooks.observe!([groupOf([1, 0], { arm: 'hint' }), mixed, wrong], scripted())
    expect(await factor(hooks)).toBeCloseTo(0.5, 6)
  })

  it('averages over rounds', async () => {
    const hooks = withSettings(hatch, { gamma: 1, rate: 0.25 })
    const context = scripted()
    await hooks.observe!([wrong], context)
    await hooks.observe!([mixed], context)
    expect(await factor(hooks)).toBeCloseTo(0.75, 6)
    expect(context.metrics.beta).toBeCloseTo(0.75, 6)
    await hooks.observe!([], context)
    await hooks.observe!([solved], context)
    expect(await factor(hooks)).toBeCloseTo(0.75, 6)
  })

  it('goes on after a restart', async () => {
    const hooks = withSettings(hatch, { gamma: 1 })
    await hooks.observe!([wrong, wrong, mixed], scripted())
    const later = withSettings(hatch, { gamma: 1 })
    await later.load!(await hooks.save!())
    expect(await factor(later)).toBe(await factor(hooks))
  })
})
