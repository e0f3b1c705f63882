import { describe, expect, it } from 'vitest'
import staleness, { ageOf } from '../../../plugins/corrections/groups/staleness.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 20, self: 'self' }
const policy = (version: number, lineage = view.lineage) => ({ lineage, tokenizer: view.tokenizer, version })
const ownAt = (version: number) =>
  groupOf([{ ...rolloutOf(1), segments: [{ version, start: 0, length: 1 }] }], { policy: policy(version) })

describe('staleness', () => {
  it('keeps groups up to the bound and drops what is older', async () => {
    const context = contextOf()
    const groups = [ownAt(20), ownAt(12), ownAt(11)]
    expect(await withSettings(staleness).group!(groups, view, context)).toEqual(groups.slice(0, 2))
    expect(context.metrics).toEqual({ dropped: 1, oldest: 8 })
  })

  it('takes a bound of 0 to mean on-policy only', async () => {
    const hooks = withSettings(staleness, { bound: 0 })
    expect(await hooks.group!([ownAt(20), ownAt(19)], view, contextOf())).toHaveLength(1)
  })

  it('counts an own group from its oldest token', () => {
    const segments = [
      { version: 15, start: 0, length: 1 },
      { version: 19, start: 1, length: 1 },
    ]
    const group = groupOf([{ ...rolloutOf(1, 2), segments }], { policy: policy(19) })
    expect(ageOf(group, view)).toBe(5)
  })

  it('counts an own group from ahead, after a restore, as stale too', () => {
    expect(ageOf(ownAt(30), view)).toBe(10)
  })

  it('counts a peer of another lineage from when its group came in', () => {
    const group = groupOf([1], { author: 'peer', policy: policy(900, 'c'.repeat(64)), bornVersion: 17 })
    expect(ageOf(group, view)).toBe(3)
  })

  it('counts a peer that began with the same weights so too, however many steps it took since', () => {
    for (const version of [0, 2, 900]) {
      const group = groupOf([1], { author: 'peer', policy: policy(version), bornVersion: 17 })
      expect(ageOf(group, view)).toBe(3)
    }
  })

  it('leaves the age of replayed rollouts to the plugin that brought them back', () => {
    const old = { ...rolloutOf(1), segments: [{ version: 2, start: 0, length: 1 }], replayed: 1 }
    const fresh = { ...rolloutOf(0), segments: [{ version: 18, start: 0, length: 1 }] }
    expect(ageOf(groupOf([old, fresh], { policy: policy(20) }), view)).toBe(2)
    expect(ageOf(groupOf([old, old], { policy: policy(2) }), view)).toBe(0)
  })
})
