import { describe, expect, it } from 'vitest'
import overlong from '../../../plugins/corrections/groups/overlong.ts'
import zeroSignal from '../../../plugins/corrections/groups/zero-signal.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
const rewardsOf = (groups: Group[]) => groups.map(({ rollouts }) => rollouts.map(({ reward }) => reward))

describe('overlong', () => {
  const soft = { limit: 20, buffer: 8 }

  it('takes reward off linearly over the buffer, and all of it from the limit on', async () => {
    const group = groupOf([12, 14, 16, 20, 30].map((length) => rolloutOf(1, length)))
    const context = contextOf()
    const shaped = await withSettings(overlong, soft).group!([group], view, context)
    expect(rewardsOf(shaped)).toEqual([[1, 0.75, 0.5, 0, 0]])
    expect(context.metrics).toEqual({ touched: 4 })
  })

  it('leaves the group that it was given as it was', async () => {
    const group = groupOf([rolloutOf(1, 30)])
    await withSettings(overlong, { ...soft, penalty: 0.5 }).group!([group], view, contextOf())
    expect(rewardsOf([group])).toEqual([[1]])
  })

  it('punishes a rollout once, and not again each time that it is replayed', async () => {
    const hooks = withSettings(overlong, soft)
    const [first] = await hooks.group!([groupOf([rolloutOf(1, 16)])], view, contextOf())
    const again = groupOf(first!.rollouts.map((rollout) => ({ ...rollout, replayed: 1 })))
    expect(rewardsOf(await hooks.group!([again], view, contextOf()))).toEqual([[0.5]])
  })

  it('can leave out what was cut instead, and a group of which nothing is left', async () => {
    const cut = rolloutOf(0, 9, { finish: 'length' })
    const groups = [groupOf([1, cut, 0]), groupOf([cut, cut])]
    const kept = await withSettings(overlong, { mode: 'filter' }).group!(groups, view, contextOf())
    expect(rewardsOf(kept)).toEqual([[1, 0]])
  })

  it('does not take a buffer longer than the limit', () => {
    expect(() => withSettings(overlong, { limit: 5, buffer: 8 })).toThrow('longer than limit')
  })
})

describe('zero_signal', () => {
  it('drops groups of equal rewards and keeps the others, lone rollouts too', async () => {
    const context = contextOf()
    const groups = [groupOf([1, 1]), groupOf([1, 0]), groupOf([0, 1e-9]), groupOf([1])]
    const kept = await withSettings(zeroSignal).group!(groups, view, context)
    expect(rewardsOf(kept)).toEqual([[1, 0], [1]])
    expect(context.metrics).toEqual({ dropped: 2 })
  })
})
