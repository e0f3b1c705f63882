// What is thought of a peer: is it like this node, do its groups help, how much may it have.

import { describe, expect, test } from 'vitest'
import { createAuthors } from '../../daemon/trainer/sharing/authors.ts'
import { EDGES } from '../../daemon/trainer/sharing/typicality.ts'

/** Tokens as this node's own policy draws them. */
const LIKE = {
  counts: [...EDGES, ...EDGES].map((edge, i, all) => 600 * (edge - (i % EDGES.length ? all[i - 1]! : 0))),
}
/** All of them at the end of this node's order. */
const UNLIKE = { counts: [...EDGES, ...EDGES].map((edge) => (edge === 1 ? 100 : 0)) }

describe('authors', () => {
  const fill = (authors: ReturnType<typeof createAuthors>, author: string, gain: number, updates: number) =>
    Array.from({ length: updates }, (_, i) => {
      const findings = authors.observe(author, {
        gain: gain + (i % 2 === 0 ? 0.5 : -0.5),
        own: 1 + (i % 3 === 0 ? 0.2 : -0.1),
        norm: 0.5,
      })
      authors.tick()
      return findings
    }).flat()

  test('whose groups pull the other way are set aside for a while, then for longer', () => {
    const authors = createAuthors({})
    expect(fill(authors, 'good', 1, 100)).toEqual([])
    const [finding] = fill(authors, 'bad', -1, 40)
    expect(finding).toMatchObject({ author: 'bad', kind: 'set aside' })
    expect(authors.isSetAside('bad')).toBe(true)
    expect(authors.isSetAside('good')).toBe(false)
    expect(authors.contributors().find(({ peer }) => peer === 'bad')?.setAside).toMatch(/work against/)
    let updates = 0
    while (authors.isSetAside('bad')) {
      authors.tick()
      updates += 1
    }
    expect(updates).toBeLessThanOrEqual(50)
    authors.setAside('bad', 'again')
    for (let i = 0; i < 99; i++) authors.tick()
    expect(authors.isSetAside('bad')).toBe(true)
    authors.tick()
    expect(authors.isSetAside('bad')).toBe(false)
  })

  test('stay set aside over a restart', () => {
    const authors = createAuthors({})
    authors.setAside('bad', 'why')
    const again = createAuthors({ restored: authors.save() })
    expect(again.isSetAside('bad')).toBe(true)
    expect(again.save()).toEqual(authors.save())
  })

  /** Its groups bring something in each of so many updates. */
  const earn = (authors: ReturnType<typeof createAuthors>, names: readonly string[], updates = 10) => {
    for (let i = 0; i < updates; i++) {
      for (const name of names) authors.observe(name, { gain: 0.3, own: 0.3, norm: 0, tokens: LIKE })
      authors.tick()
    }
  }
  test('are forgotten one by one when there are too many, but not those that are set aside', () => {
    const authors = createAuthors({})
    authors.setAside('bad', 'why')
    for (let i = 0; i < 2000; i++) authors.observe(`peer ${i}`, { gain: 1, own: 1, norm: 0.1 })
    expect(authors.isSetAside('bad')).toBe(true)
    expect(authors.contributors().length).toBeLessThanOrEqual(32)
  })

  test('count for nothing while their tokens are unlike what this node writes, and are said to', () => {
    const authors = createAuthors({})
    earn(authors, ['matched', 'mismatched'])
    expect([authors.earnedWeight('matched'), authors.earnedWeight('stranger')]).toEqual([1, undefined])
    expect(authors.isBelieved('mismatched')).toBe(true)
    // Groups that are unlike are left out at once, whoever wrote them; their author is judged by more than one.
    expect([authors.earnedWeight('matched', UNLIKE), authors.earnedWeight('stranger', UNLIKE)]).toEqual([
      0, 0,
    ])
    const observe = () => authors.observe('mismatched', { gain: 0.3, own: 0.3, norm: 0.1, tokens: UNLIKE })
    const found = Array.from({ length: 6 }, observe).flat()
    expect(found).toMatchObject([
      { author: 'mismatched', kind: 'unlike', reason: expect.stringMatching(/planted text/) },
    ])
    expect(authors.earnedWeight('mismatched')).toBe(0)
    expect([authors.isBelieved('mismatched'), authors.hasEarned('mismatched')]).toEqual([false, false])
    expect(authors.contributors().find(({ peer }) => peer === 'mismatched')).toMatchObject({
      likeness: 'mismatched',
    })
    // Said once.
    expect(observe()).toEqual([])
    const again = createAuthors({ restored: authors.save() })
    expect([again.earnedWeight('mismatched'), again.earnedWeight('matched')]).toEqual([0, 1])
  })

  test('who write as this node does count fully, whatever a few updates say of their groups', () => {
    const authors = createAuthors({})
    for (let i = 0; i < 10; i++)
      authors.observe('unlucky', { gain: i % 2 ? 1.2 : -1.4, own: i % 3, norm: 0, tokens: LIKE })
    expect(authors.earnedWeight('unlucky')).toBe(1)
  })

  test('who bring less than own groups for long weigh less, and nobody else does', () => {
    const authors = createAuthors({})
    earn(authors, ['good', 'useless'], 1)
    for (let i = 0; i < 60; i++) {
      const own = i % 2 === 0 ? 0.2 : 0.4
      authors.observe('good', { gain: own, own, norm: 0.1, tokens: LIKE })
      authors.observe('useless', { gain: 0.01, own, norm: 0.1, tokens: LIKE })
    }
    expect(authors.earnedWeight('good')).toBe(1)
    expect(authors.earnedWeight('useless')).toBeLessThan(0.3)
  })
})
