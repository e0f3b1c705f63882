import { expect, test } from 'vitest'
import { pacedWalk } from '../../../daemon/swarm/libp2p/paced-walk.ts'
import { VirtualClock } from '../../virtual-clock.ts'

test('a search that finds nothing is repeated less and less often, also after failures, until it is ended', async () => {
  const clock = new VirtualClock()
  const end = new AbortController()
  let walks = 0
  const peerRouting = {
    // biome-ignore lint/correctness/useYield: it finds nobody
    async *getClosestPeers() {
      if (++walks === 3) throw new Error('nobody to ask')
    },
  }
  const next = pacedWalk({ peerRouting } as never, { clock })
    .walk({ signal: end.signal })
    .next()
  // The first walk is under way.
  for (let i = 0; i < 20; i++) await Promise.resolve()
  await clock.pass(10_000)
  expect(walks).toBeGreaterThan(2)
  await clock.pass(3_600_000)
  expect(walks).toBeGreaterThan(55)
  expect(walks).toBeLessThan(70)
  end.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
})
