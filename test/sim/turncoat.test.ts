// Trusted peers whose weights are good at first and forged later, three beside one honest node.

import { expect, test } from 'vitest'
import { runForged } from './forged.ts'

test.each([1, 2, 3])(
  'honest nodes go on learning, whatever three of four offer later (seed %i)',
  async (seed) => {
    const { breaches, nodes } = await runForged({
      seed,
      kind: 'slow drift',
      honest: 1,
      liars: 3,
      seconds: 350,
    })
    expect(breaches).toEqual([])
    for (const { before, least, end } of nodes) {
      expect(least).toBeGreaterThan(before - 0.1)
      expect(end).toBeGreaterThan(before + 0.1)
    }
  },
  60_000,
)
