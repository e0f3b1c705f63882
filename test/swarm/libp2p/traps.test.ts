// What libp2p and gossipsub do by default and a small swarm would die of, each once, against real hosts.

import { TopicValidatorResult } from '@libp2p/gossipsub'
import { createTopicScoreParams, type TopicScoreParams } from '@libp2p/gossipsub/score'
import { afterEach, expect, test, vi } from 'vitest'
import { gossipLink, meshPeers } from '../../../daemon/swarm/gossip/internals.ts'
import { politeAutoNAT } from '../../../daemon/swarm/libp2p/host-wide.ts'
import type { SwarmNode } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { Links } from '../../../daemon/swarm/links/links.ts'
import type { Clock } from '../../../daemon/swarm/types.ts'
import { draft, freshDatastore, startNode, stopNodes, until } from '../helpers.ts'
import { type BareHostOptions, bareHost } from './bare-host.ts'

const TOPIC = '/waggle/1/traps/groups'
const stops: Array<() => unknown> = []
afterEach(async () => {
  vi.useRealTimers()
  for (const stop of stops.splice(0).reverse()) await stop()
  await stopNodes()
})

async function host(options: Omit<BareHostOptions, 'topic'> = {}): Promise<SwarmNode> {
  const made = await bareHost({ ...options, topic: TOPIC })
  stops.push(() => made.stop())
  return made
}

const linked = (a: SwarmNode, b: SwarmNode) => {
  const link = gossipLink(a.services.pubsub, b.peerId.toString())
  return link?.inbound === true && link.outbound
}

test('fourteen nodes behind one address join at once, and a group reaches them all', async () => {
  const hub = await startNode()
  const others = await Promise.all(Array.from({ length: 13 }, () => startNode()))
  // libp2p lets 5 a second in from one address; gossipsub prunes 12 behind one.
  const outcomes = await Promise.all(others.map(({ swarm }) => swarm.join(hub.address)))
  expect(outcomes.every(({ state }) => state === 'connected')).toBe(true)
  await until('the mesh', () => others.every(({ swarm }) => swarm.peers().some(({ mesh }) => mesh)), 20_000)
  await others[0]!.swarm.publish(draft(1))
  await until('the group everywhere', () =>
    [hub, ...others.slice(1)].every(({ groups }) => groups.length === 1),
  )
}, 60_000)

test('addresses of peers are not forgotten', async () => {
  const datastore = await freshDatastore()
  const node = await host({ datastore })
  const other = await host()
  await node.peerStore.merge(other.peerId, { multiaddrs: other.getMultiaddrs() })
  // libp2p forgets addresses after an hour and peers after six.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 30 * 24 * 3_600_000 })
  expect((await node.peerStore.get(other.peerId)).addresses).toHaveLength(1)
})

test('a peer that does not read is hung up on, before gossip with it breaks for good', async () => {
  const node = await host()
  const other = await host()
  await other.dial(node.getMultiaddrs())
  await until('the link', () => linked(node, other))
  const ticks: Array<() => void> = []
  const clock: Clock = {
    now: () => 0,
    after(_, run) {
      ticks.push(run)
      return () => {}
    },
  }
  const links = new Links(
    {},
    { libp2p: node, clock, log: () => {}, isStarved: () => false, onMended: () => {}, onTwin: () => {} },
  )
  links.start()
  stops.push(() => links.stop())
  const inner = node.services.pubsub as unknown as {
    streamsOutbound: Map<string, { rawStream: object }>
  }
  const { rawStream } = inner.streamsOutbound.get(other.peerId.toString())!
  Object.defineProperty(rawStream, 'writeBufferLength', { value: 9 << 20 })
  const [connection] = node.getConnections(other.peerId)
  // A second each; the check itself reads the peer store.
  for (let second = 0; second < 30 && connection!.status === 'open'; second++) {
    for (const tick of ticks.splice(0)) tick()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  expect(connection!.status).not.toBe('open')
})

test('ten minutes of silence cost an honest peer nothing, and would by the defaults for deliveries', async () => {
  const node = await host()
  const other = await host()
  await other.dial(node.getMultiaddrs())
  await until('the mesh', () => meshPeers(node.services.pubsub, TOPIC).size === 1)
  const { score } = node.services.pubsub as unknown as {
    score: { refreshScores(): void; params: { topics: Record<string, TopicScoreParams> } }
  }
  const scoreOf = () => gossipLink(node.services.pubsub, other.peerId.toString())!.score
  const started = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: started })
  for (let second = 1; second <= 600; second++) {
    vi.setSystemTime(started + second * 1000)
    score.refreshScores()
    expect(scoreOf()).toBeGreaterThanOrEqual(0)
  }
  // Time in the mesh has counted, so the score is of these ten minutes.
  expect(scoreOf()).toBeGreaterThan(1)
  expect(meshPeers(node.services.pubsub, TOPIC).size).toBe(1)

  const byDefault = Object.entries(createTopicScoreParams()).filter(([key]) => /^meshMessage/.test(key))
  Object.assign(score.params.topics[TOPIC]!, Object.fromEntries(byDefault))
  vi.setSystemTime(started + 601_000)
  score.refreshScores()
  expect(scoreOf()).toBeLessThan(0)
})

test.each([
  ['rejected', TopicValidatorResult.Reject, (score: number) => score < -150],
  ['ignored', TopicValidatorResult.Ignore, (score: number) => score >= 0],
] as const)('three messages that are %s: what gossip thinks of the peer then', async (_, verdict, fits) => {
  const node = await host()
  const other = await host()
  let judged = 0
  node.services.pubsub.topicValidators.set(TOPIC, () => {
    judged++
    return verdict
  })
  await other.dial(node.getMultiaddrs())
  await until('the subscription', () => other.services.pubsub.getSubscribers(TOPIC).length === 1)
  for (let i = 0; i < 3; i++) await other.services.pubsub.publish(TOPIC, Uint8Array.of(i))
  await until('the verdicts', () => judged === 3)
  // Without parameters for the topic it stays at 0 after any number.
  await until('the score', () =>
    fits(gossipLink(node.services.pubsub, other.peerId.toString())?.score ?? Number.NaN),
  )
})

test('AutoNAT dials anew, and does not close the connection that is in use', async () => {
  const asked: unknown[] = []
  class Manager {
    secret = 'kept'
    async openConnection(target: unknown, options?: object) {
      asked.push(target, options, this.secret)
    }
  }
  const noop = () => {}
  const logger = Object.assign(noop, { error: noop, trace: noop, newScope: () => logger })
  const service = politeAutoNAT({ clock: { now: () => 0, after: () => noop } })({
    connectionManager: new Manager(),
    registrar: {},
    logger: { forComponent: () => logger },
    events: new EventTarget(),
  } as never) as unknown as { components: { connectionManager: Manager } }
  await service.components.connectionManager.openConnection('somewhere', { priority: 1 })
  expect(asked).toEqual(['somewhere', { priority: 1, force: true }, 'kept'])
})
