// How many groups are behind a node's weights, after what trials took.

import { expect, test } from 'vitest'
import { createPartners } from '../../../daemon/trainer/heads/partners.ts'

const head = (author: string, own: number, foreign = 0) => ({
  ...{ author, version: 1, hash: author, own, foreign, isClipped: false },
})

test('groups of peers whose weights are averaged are behind them', () => {
  const partners = createPartners({ now: () => 0 })
  partners.joined([head('a', 30), head('b', 20)])
  expect(partners.groups(5)).toBe(55)
})

test('weights that took the place of own ones have the groups of their peer behind them, and no others', () => {
  const partners = createPartners({ now: () => 0 })
  partners.took(head('a', 80, 20), 40)
  // With the 40 own ones that were replaced, as many as the peer has.
  expect(partners.groups(0)).toBe(60)
})

test('a checkpoint says how many groups are behind its weights, and later heads add to them once', () => {
  const partners = createPartners({ now: () => 0 })
  partners.joined([head('a', 30), head('b', 20)])
  const restored = createPartners({ now: () => 0 })
  restored.restore(partners.save())
  expect(restored.groups(0)).toBe(50)
  restored.joined([head('a', 60)])
  expect(restored.groups(0)).toBe(80)
})

test('a peer is gone whose newest head is from a time when the clock was far ahead', () => {
  let now = 365 * 24 * 3_600_000
  const partners = createPartners({ now: () => now })
  partners.joined([head('a', 30)])
  now = 0
  expect(partners.has('a')).toBe(false)
})
