// Nodes that average their weights, on links that lose messages and while nodes die and come back, beside some who offer
// what cannot be read.

import { expect, test } from 'vitest'
import type { Exchange } from '../../daemon/swarm/exchange.ts'
import { pack, packedSize } from '../../daemon/trainer/heads/blocks.ts'
import { runChaos } from './chaos.ts'

test('weights go from node to node, none that cannot be read is joined, and nobody honest is charged', async () => {
  const { breaches, tally } = await runChaos({
    seed: 1,
    chaosSeconds: 45,
    healSeconds: 0,
    // Nodes also die in the middle of a fetch or of an average, and with a full disk.
    faults: ['drops', 'delays', 'kills', 'power cuts', 'kill at an engine call', 'full disk'],
    actors: ['weigher', 'weigher'],
  })
  expect(breaches).toEqual([])
  expect(tally.lives).toBeGreaterThan(4)
  expect(tally.heads).toBeGreaterThan(10)
}, 60_000)

test('weights that their author never offered would be noticed', async () => {
  const exchange = ({ heads }: Exchange): void => {
    heads.fetch = async ({ size }) => {
      let values = size
      while (packedSize(values) > size) values--
      return pack(new Float32Array(values).fill(0.01))
    }
  }
  const short = { chaosSeconds: 12, healSeconds: 0, faults: [], actors: [] }
  const { breaches } = await runChaos({ seed: 3, ...short, planted: { exchange } })
  expect(breaches[0]).toContain('never offered them')
}, 60_000)
