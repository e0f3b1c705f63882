import { expect, test } from 'vitest'
import { trainerOf, trainsOn } from '../../../daemon/node/heads/division.ts'

const PEERS = ['a', 'b', 'c', 'd']
const groups = Array.from({ length: 400 }, (_, seed) => ({
  author: 'stranger',
  prompt: { task: 'sums', taskVersion: 1, seed, difficulty: 0 },
}))

test('peers divide groups about evenly, in whatever order they know each other', () => {
  const counts = PEERS.map((peer) => groups.filter((group) => trainerOf(group, PEERS) === peer).length)
  for (const count of counts) expect(Math.abs(count - 100)).toBeLessThan(40)
  const found = groups.map((group) => trainerOf(group, PEERS))
  expect(groups.map((group) => trainerOf(group, PEERS.toReversed()))).toEqual(found)
})

test('where a peer goes, only its groups are divided again', () => {
  const rest = PEERS.filter((peer) => peer !== 'c')
  const moved = groups.filter((group) => trainerOf(group, PEERS) !== trainerOf(group, rest))
  expect(moved).toEqual(groups.filter((group) => trainerOf(group, PEERS) === 'c'))
})

test('groups of different authors with the same prompt are divided, too', () => {
  const authors = Array.from({ length: 100 }, (_, i) => ({ ...groups[0]!, author: `${i}` }))
  expect(new Set(authors.map((group) => trainerOf(group, PEERS))).size).toBe(4)
})

test('a group is not left to a peer that says that it does other tasks', () => {
  const [group] = groups
  expect(trainsOn({}, group!)).toBe(true)
  expect(trainsOn({ tasks: [{ name: 'sums', difficulty: 0 }] }, group!)).toBe(true)
  expect(trainsOn({ tasks: [{ name: 'sums', difficulty: 1 }] }, group!)).toBe(false)
  expect(trainsOn({ tasks: [{ name: 'fractions', difficulty: 0 }] }, group!)).toBe(false)
})
