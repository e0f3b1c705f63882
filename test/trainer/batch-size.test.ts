import { expect, test } from 'vitest'
import { batchAt, filledBatch, roomFor } from '../../daemon/trainer/batch/batch-size.ts'

test('foreign groups make a batch no larger', () => {
  const own = (batchGroups: number, peers: number) => filledBatch(batchGroups, peers).leastOwn
  // No peer has more than half, and an eighth stays own.
  expect([0, 1, 3, 7, 50].map((peers) => own(16, peers))).toEqual([16, 8, 4, 2, 2])
  for (const batchGroups of [1, 4, 8, 16])
    for (const peers of [1, 3, 50]) {
      const { leastOwn, foreign } = filledBatch(batchGroups, peers)
      expect(leastOwn).toBeGreaterThan(0)
      expect(foreign).toBe(Math.max(Math.ceil(batchGroups / 4), batchGroups - leastOwn))
    }
  // Newcomers' groups come on top.
  expect(filledBatch(16, 0)).toEqual({ leastOwn: 16, foreign: 4 })
})

test('batches grow from a quarter of batch_groups, or four, to all of them', () => {
  const sizes = (batch_groups: number, batch_ramp_steps: number) =>
    [0, 1, 50, 99, 100, 10_000].map((version) => batchAt(version, { batch_groups, batch_ramp_steps }))
  expect(sizes(16, 100)).toEqual([4, 5, 10, 16, 16, 16])
  expect(sizes(32, 200)).toEqual([8, 9, 14, 20, 20, 32])
  expect(sizes(6, 100)).toEqual([4, 5, 5, 6, 6, 6])
  expect(sizes(1, 100)).toEqual([1, 1, 1, 1, 1, 1])
  expect(sizes(16, 0)).toEqual([16, 16, 16, 16, 16, 16])
})

test('nodes whose weights are averaged divide the batch, rounded down, but not below one group', () => {
  const sizes = (nodes: number) =>
    [0, 1, 34, 100].map((version) => batchAt(version, { batch_groups: 16, batch_ramp_steps: 100 }, nodes))
  expect([1, 2, 4, 4.5, 8, 100].map(sizes)).toEqual([
    [4, 5, 9, 16],
    [2, 2, 4, 8],
    [1, 1, 2, 4],
    [1, 1, 2, 3],
    [1, 1, 1, 2],
    [1, 1, 1, 1],
  ])
})

test('no rollout that may wait is older than allowed when its turn comes', () => {
  for (const batch of [1, 4, 7])
    for (const whole of [batch, 16])
      for (const staleness of [0, 1, 8]) {
        // The last in line is written at version 0 and waits for all before it, a version a batch.
        const { most } = roomFor({ batch, whole }, staleness)
        const versionsBefore = Math.ceil(most / batch) - 1
        expect(versionsBefore).toBeLessThanOrEqual(staleness)
        expect(most).toBeGreaterThanOrEqual(batch)
      }
})

test('a batch is written while another is trained on, where any age is allowed', () => {
  expect(roomFor({ batch: 4 }, 0)).toEqual({ most: 4, round: 1 })
  expect(roomFor({ batch: 4 }, 1)).toEqual({ most: 8, round: 4 })
  expect(roomFor({ batch: 4 }, 8)).toEqual({ most: 8, round: 4 })
})

test('a node that divides its batch writes as many groups at once as before, if their age allows', () => {
  expect(roomFor({ batch: 2, whole: 4 }, 8)).toEqual({ most: 6, round: 4 })
  expect(roomFor({ batch: 2, whole: 16 }, 8)).toEqual({ most: 18, round: 16 })
  expect(roomFor({ batch: 2, whole: 16 }, 4)).toEqual({ most: 10, round: 8 })
})
