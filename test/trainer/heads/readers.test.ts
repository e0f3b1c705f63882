import { expect, test } from 'vitest'
import { createReaders } from '../../../daemon/node/heads/readers.ts'

/** Of 32 groups, those that are sent. `joined`, `taking`: peers. */
function sent(peers: string[], { joined, taking }: { joined: string[]; taking: string[] }): number {
  const isRead = createReaders({
    peers: () => peers,
    isAveraged: (peer) => joined.includes(peer),
    isTaking: (peer) => taking.includes(peer),
  })
  return Array.from({ length: 32 }, isRead).filter(Boolean).length
}

test('groups go out while any connected peer does not average weights with this node, both ways', () => {
  const all = ['a', 'b']
  expect(sent(all, { joined: [], taking: [] })).toBe(32)
  expect(sent(all, { joined: ['a'], taking: all })).toBe(32)
  expect(sent(all, { joined: all, taking: ['b'] })).toBe(32)
})

test('where all average weights, one group in 16 goes out', () => {
  expect(sent(['a', 'b'], { joined: ['b', 'a', 'gone'], taking: ['a', 'b'] })).toBe(2)
})

test('without peers, groups are kept for those who come later', () => {
  expect(sent([], { joined: [], taking: [] })).toBe(32)
})
