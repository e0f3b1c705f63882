import { expect, it } from 'vitest'
import kl from '../../../plugins/corrections/penalties/kl.ts'
import { contextOf, groupOf, withSettings } from '../samples.ts'
import { valuesOf } from './rows.ts'

const SETTINGS = { coefficient: 0.1, target: 0.5, horizon: 100 }
const controlled = (more: object = {}) => withSettings(kl, { ...SETTINGS, ...more })
/** Twenty rollouts: a fifth of the horizon. */
const GROUPS = [groupOf(Array<number>(8).fill(1)), groupOf(Array<number>(12).fill(0))]

async function after(hooks: ReturnType<typeof controlled>, ...divergences: number[]): Promise<number> {
  for (const [i, divergence] of divergences.entries())
    await hooks.commit!(
      { step: i + 1, metrics: { 'kl.divergence': divergence }, groups: GROUPS, advantages: [] },
      contextOf(i),
    )
  const context = contextOf()
  const { coefficient } = await hooks.columns!([], [], context)
  expect(context.metrics.coefficient).toBe(coefficient)
  return coefficient as number
}

it('raises the factor above the target and lowers it below, in proportion', async () => {
  expect(await after(controlled())).toBe(0.1)
  // 10% above the target, K = 20 / 100.
  expect(await after(controlled(), 0.55)).toBeCloseTo(0.1 * 1.02, 12)
  expect(await after(controlled(), 0.45)).toBeCloseTo(0.1 * 0.98, 12)
  expect(await after(controlled(), 0.5)).toBe(0.1)
})

it('goes by at most a fifth of the way however far off it is, batch after batch', async () => {
  expect(await after(controlled(), 40)).toBeCloseTo(0.1 * 1.04, 12)
  expect(await after(controlled(), 0)).toBeCloseTo(0.1 * 0.96, 12)
  expect(await after(controlled(), -3, 40)).toBeCloseTo(0.1 * 0.96 * 1.04, 12)
  // A batch that is longer than the horizon counts as one that is as long.
  expect(await after(controlled({ horizon: 1 }), 0)).toBeCloseTo(0.08, 12)
})

it('stays where nothing was measured', async () => {
  const hooks = controlled()
  await hooks.commit!({ step: 1, metrics: {}, groups: GROUPS, advantages: [] }, contextOf())
  expect(await after(hooks, Number.NaN)).toBe(0.1)
})

it('goes on from a saved factor, and refuses one that is none', async () => {
  const hooks = controlled()
  const reached = await after(hooks, 0.55, 0.6)
  const next = controlled()
  await next.load!(await hooks.save!())
  expect(await after(next)).toBe(reached)
  expect(() => next.load!(new TextEncoder().encode('-1'))).toThrow()
})

it('is what the penalty is multiplied with; without a target there is no such column', () => {
  const { penalty, columns } = controlled({ estimator: 'k2' }).correct!()
  expect(columns).toEqual({ coefficient: 0.1 })
  const row = { logprob: [-1, -1], reference: [-3, -1], 'kl.coefficient': [0.25, 0.25] }
  expect(valuesOf(penalty, row)).toEqual([0.5, 0])
  const fixed = withSettings(kl, { coefficient: 0.1 })
  expect(fixed.correct!().columns).toBeUndefined()
  expect(Object.keys(fixed)).toEqual(['correct'])
  expect(() => controlled({ coefficient: 0 })).toThrow('a target needs a coefficient')
})
