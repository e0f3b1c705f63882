// What gossip did not bring is asked for, so that a node learns of another one that uses its identity.

import { expect, test } from 'vitest'
import { AntiEntropy } from '../../../daemon/swarm/fetch/anti-entropy.ts'
import { openExchanger } from '../../sim/exchanger.ts'
import { identityFrom } from '../../sim/identity.ts'
import { createNet } from '../../sim/net.ts'
import { createWorld } from '../../sim/world.ts'
import { VirtualClock } from '../../virtual-clock.ts'

/** A node and its neighbour, which also hears a copy of the node's home; whether the node has noticed, by seconds. */
async function noticedAfter(isAsking: boolean): Promise<number | undefined> {
  const world = createWorld({ seed: 1 })
  const identity = identityFrom(world.random('key of both'), 'stand-in')
  const open = (
    name: string,
    net = createNet({ world, random: world.random(`net of ${name}`) }),
    onImpostor = () => {},
  ) => ({
    net,
    node: openExchanger({ identity, random: world.random(name) }, { world, net, onImpostor }),
  })
  let noticed: number | undefined
  const { net, node } = open('original', undefined, () => {
    noticed ??= world.time
  })
  const neighbour = openExchanger(
    {
      identity: identityFrom(world.random('key of the neighbour'), 'stand-in'),
      random: world.random('neighbour'),
    },
    { world, net },
  )
  await Promise.all([node, neighbour].map(({ exchange }) => exchange.start()))
  net.connect(node.id, neighbour.id)
  const asking = new AntiEntropy(
    {},
    {
      clock: { now: () => world.time, after: (ms, run) => world.after(ms, run) },
      peers: () => [...net.neighbours(node.id)],
      catchUp: (peer, sinceMs) => node.exchange.fetcher.catchUp(peer, sinceMs),
    },
  )
  if (isAsking) asking.start()
  await world.run(30_000)
  // The copy is in a network of its own; what it writes reaches the neighbour under the name of both.
  const copy = open('copy')
  copy.net.add('listener', {
    onGossip: (_, data) => net.gossip(node.id, neighbour.id, data),
    onQuestion: () => [],
    onConnected() {},
    onDisconnected() {},
  })
  copy.net.connect(copy.node.id, 'listener')
  const begun = world.time
  copy.node.write()
  await world.run(begun + 60_000)
  asking.stop()
  return noticed === undefined ? undefined : (noticed - begun) / 1000
}

test('that another node uses its identity is noticed within a minute, though gossip never tells', async () => {
  expect(await noticedAfter(true)).toBeLessThan(30)
  expect(await noticedAfter(false)).toBeUndefined()
})

test('peers are asked in turn, whoever comes and goes, and nobody when alone', async () => {
  const clock = new VirtualClock()
  let peers = ['a', 'b']
  const asked: string[] = []
  const asking = new AntiEntropy({}, { clock, peers: () => peers, catchUp: async (peer) => asked.push(peer) })
  asking.start()
  await clock.pass(60_000)
  peers = []
  await clock.pass(60_000)
  peers = ['c']
  await clock.pass(20_000)
  expect(asked).toEqual(['a', 'b', 'a', 'c'])
  asking.stop()
  await clock.pass(60_000)
  expect(asked).toHaveLength(4)
})
