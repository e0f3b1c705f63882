// Nodes of unlike speed that average their weights.

import { expect, test } from 'vitest'
import { runMixed } from './mixed.ts'

test('a node four times as slow as its peers follows them', async () => {
  const { breaches, skills } = await runMixed({ seed: 1, slowness: [1, 1, 4], seconds: 700 })
  expect(breaches).toEqual([])
  const [fast = 0, , slow] = skills.at(-1)!
  expect(slow).toBeGreaterThan(0.6 * fast)
}, 60_000)
