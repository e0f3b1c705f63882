// Which of its own connections a node closes when it has more than it uses.

import { multiaddr } from '@multiformats/multiaddr'
import { expect, test } from 'vitest'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { Thinning } from '../../../daemon/swarm/links/thinning.ts'
import { seeded } from '../../store/random.ts'
import { VirtualClock } from '../../virtual-clock.ts'

const RELAY = 'keep-alive-circuit-relay'
const SEARCH = 'keep-alive-kad-dht'

function nodeWith({ keep = 4, useful = [] as string[] } = {}) {
  const clock = new VirtualClock()
  const open: Array<{ remotePeer: string }> = []
  const tags = new Map<string, Map<string, unknown>>()
  const libp2p = {
    getConnections: () => open,
    peerStore: {
      get: async (peer: string) => ({ tags: tags.get(peer) ?? new Map() }),
      merge: async (peer: string, by: { tags: Record<string, unknown> }) => {
        for (const name of Object.keys(by.tags)) tags.get(peer)?.delete(name)
      },
    },
  } as unknown as SwarmNode
  const thinning = new Thinning(
    { keep },
    {
      ...{ libp2p, clock, random: seeded(1) },
      isWanted: (peer) => peer === 'joined',
      isUseful: (peer) => useful.includes(peer),
      mesh: () => new Set(['neighbour']),
    },
  )
  thinning.start()
  return {
    clock,
    tags,
    connect(peer: string, what: object = {}) {
      const connection = {
        ...{ remotePeer: peer, remoteAddr: multiaddr(`/ip4/192.0.${open.length}.1/tcp/1`) },
        ...{ direction: 'outbound', status: 'open', timeline: { open: clock.now() } },
        streams: [{ protocol: '/meshsub/1.2.0' }, { protocol: '' }],
        close: async () => void open.splice(open.indexOf(connection), 1),
        ...what,
      }
      open.push(connection)
    },
    peers: () => open.map(({ remotePeer }) => remotePeer),
  }
}

test('of the connections that it opened it keeps a few, and those that others opened stay', async () => {
  const { clock, connect, peers } = nodeWith()
  for (let i = 0; i < 20; i++) connect(`out ${i}`)
  for (let i = 0; i < 20; i++) connect(`in ${i}`, { direction: 'inbound' })
  await clock.pass(29_000)
  expect(peers()).toHaveLength(40)
  await clock.pass(11_000)
  expect(peers().filter((peer) => peer.startsWith('out'))).toHaveLength(4)
  expect(peers().filter((peer) => peer.startsWith('in'))).toHaveLength(20)
})

test('joined peers, neighbours in gossip, its relay, new ones and those in use stay', async () => {
  const { clock, connect, peers, tags } = nodeWith({ keep: 0 })
  tags.set('relay', new Map([[RELAY, {}]]))
  for (const peer of ['joined', 'neighbour', 'relay', 'idle']) connect(peer)
  connect('fetching', { streams: [{ protocol: '/waggle/fetch/1' }] })
  connect('relayed', { limits: {} })
  await clock.pass(25_000)
  connect('new')
  await clock.pass(15_000)
  expect(peers()).toEqual(['joined', 'neighbour', 'relay', 'fetching', 'relayed', 'new'])
})

test('strangers go before those whose groups were good, and libp2p is told not to dial them again', async () => {
  const useful = ['good 0', 'good 1', 'good 2']
  const { clock, connect, peers, tags } = nodeWith({ useful })
  for (const peer of useful) connect(peer)
  for (let i = 0; i < 5; i++) {
    connect(`stranger ${i}`)
    tags.set(`stranger ${i}`, new Map([[SEARCH, {}]]))
  }
  await clock.pass(40_000)
  expect(peers()).toHaveLength(4)
  expect(peers().filter((peer) => useful.includes(peer))).toEqual(useful)
  expect([...tags.values()].filter((of) => of.has(SEARCH))).toHaveLength(1)
})
