// How many groups of a batch are own ones, and how many foreign.

import { expect, test } from 'vitest'
import { filledBatch } from '../../daemon/trainer/sharing/batch-size.ts'

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
