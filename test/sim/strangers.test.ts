// A founder that trusts nobody, and two volunteers whose steps it audits.

import { expect, test } from 'vitest'
import { runStrangers } from './strangers.ts'

test('an honest stranger climbs, and one that forges steps is found and counts for nothing', async () => {
  const { breaches, liars, accused, rungs } = await runStrangers({
    ...{ seed: 1, honest: 1, liars: 1, kind: 'sign flipped', seconds: 210, auditSeconds: 0.5 },
  })
  expect(breaches).toEqual([])
  expect(liars).toMatchObject([{ isFound: true }])
  expect(accused).toBe(0)
  expect(rungs[0]!.weight).toBeGreaterThan(0.4)
}, 60_000)
