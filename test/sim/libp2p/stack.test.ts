// The real libp2p in simulated time. docs/results/simulation.md has the long runs.

import { expect, test } from 'vitest'
import { runStack } from './stack.ts'

const run = (seed: number) =>
  runStack({ seed, nodes: 3, meetSeconds: 5, chaosSeconds: 8, healSeconds: 12, countSeconds: 8, every: 2 })

test('two runs of a seed on the real libp2p are the same; after the chaos every group arrives, and all is calm', async () => {
  const [first, second] = [await run(3), await run(3)]
  expect(first.breaches).toEqual([])
  expect(first.deaths).toBeGreaterThan(0)
  expect(first.counted).toBeGreaterThan(3)
  expect(second.trace).toBe(first.trace)
  // A search for relays that never pauses alone makes hundreds.
  expect(first.packetsPerNodeSecond).toBeLessThan(100)
})

test('nodes among which all is well keep their connections', async () => {
  const quiet = { nodes: 4, meetSeconds: 5, chaosSeconds: 0, healSeconds: 5, countSeconds: 40, every: 1000 }
  const { calmDials, links } = await runStack({ seed: 1, ...quiet })
  expect(calmDials).toBe(0)
  expect(links).toEqual([3, 3, 3, 3])
})
