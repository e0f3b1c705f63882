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

test('for a found peer without addresses, they come from the peer store, and no search begins', async () => {
  const router = {
    async *getClosestPeers() {
      yield { id: 'known', multiaddrs: [] }
    },
  }
  const peerRouting = {
    routers: [router],
    getClosestPeers: () => {
      throw new Error('it searches for the addresses of each')
    },
  }
  const peerStore = { get: async () => ({ addresses: [{ multiaddr: '/ip4/10.0.0.1/tcp/1' }] }) }
  const walk = pacedWalk({ peerRouting, peerStore } as never, { clock: new VirtualClock() }).walk()
  expect((await walk.next()).value).toEqual({ id: 'known', multiaddrs: ['/ip4/10.0.0.1/tcp/1'] })
})

test('a peer that nobody knows an address of does not end the search', async () => {
  const addresses = [{ multiaddr: '/ip4/10.0.0.1/tcp/1' }]
  const known: Record<string, unknown> = { known: { addresses }, bare: { addresses: [] } }
  const peerRouting = {
    async *getClosestPeers() {
      for (const id of ['nobody', 'bare', 'known']) yield { id, multiaddrs: [] }
    },
  }
  const peerStore = { get: async (id: string) => known[id] ?? Promise.reject(new Error('not found')) }
  const walk = pacedWalk({ peerRouting, peerStore } as never, { clock: new VirtualClock() }).walk()
  expect((await walk.next()).value).toMatchObject({ id: 'known' })
})
