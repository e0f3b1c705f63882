import { expect, test } from 'vitest'
import { mostWaiting } from '../../daemon/core/capacity.ts'

test('no rollout that may wait is older than allowed when its turn comes', () => {
  for (const batch of [1, 4, 7])
    for (const staleness of [0, 1, 8]) {
      // The last in line is written at version 0 and waits for all before it, a version a batch.
      const most = mostWaiting(batch, staleness)
      const versionsBefore = Math.ceil(most / batch) - 1
      expect(versionsBefore).toBeLessThanOrEqual(staleness)
      expect(most).toBeGreaterThanOrEqual(batch)
    }
})

test('a batch is written while another is trained on, where any age is allowed', () => {
  expect(mostWaiting(4, 0)).toBe(4)
  expect(mostWaiting(4, 1)).toBe(8)
  expect(mostWaiting(4, 8)).toBe(8)
})
