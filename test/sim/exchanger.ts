// A node that only exchanges groups: the real exchange, without disk, policy and training. It writes groups when it is told
// to, or is a relay, which passes on what it cannot check.

import type { Datastore } from 'interface-datastore'
import { createExchange } from '../../daemon/swarm/exchange.ts'
import type { Group } from '../../protocol/train/index.ts'
import { contentId, type GroupDraft } from '../../protocol/wire/index.ts'
import { draftOf } from './actors/index.ts'
import { authenticityOf, type Signatures, type SimulatedIdentity } from './identity.ts'
import { createGossip, type Net } from './net.ts'
import { codec, even, MAX_TOKENS, writeText } from './policy.ts'
import { EPOCH, type Random, type World } from './world.ts'

export type Exchanger = ReturnType<typeof openExchanger>

export function openExchanger(
  {
    identity,
    random,
    signatures = 'stand-in',
    relay = false,
    filterEntries,
  }: {
    identity: SimulatedIdentity
    random: Random
    signatures?: Signatures
    relay?: boolean
    /** Default: as the daemon has it. */
    filterEntries?: number
  },
  {
    world,
    net,
    datastore,
    onGroup = () => {},
    onImpostor = () => {},
  }: { world: World; net: Net; datastore?: Datastore; onGroup?(group: Group): void; onImpostor?(): void },
) {
  const self = identity.peerId
  const life = { isAlive: true }
  const after = (ms: number, run: () => void) => world.after(ms, () => life.isAlive && run())
  const { gossip, receive } = createGossip(
    { self, life },
    {
      net,
      guard: () => exchange.validator.guard,
      validate: (source, message) => exchange.validator.validate(source, message),
      onVerdict() {},
    },
  )
  let answer: ReturnType<Net['requests']>['answer'] = () => []
  const exchange = createExchange(
    {
      ...{ relay, filterEntries, maxCompletionTokens: MAX_TOKENS },
      tasks: [{ name: even.name, version: even.version }],
    },
    {
      ...{ identity, gossip, codec, onGroup },
      ...(datastore && { datastore }),
      clock: { now: () => Math.floor(EPOCH + world.time), after },
      log() {},
      tasks: { find: (name) => (name === even.name && !relay ? even : undefined) },
      version: () => 1,
      onEvent() {},
      requests(records) {
        const requests = net.requests(self, records, life)
        answer = requests.answer
        return requests
      },
      links: { cut: (peer) => net.disconnect(self, peer), slow() {} },
      isWanted: () => false,
      onClock() {},
      onImpostor,
      soon: (run) => void after(0.1, run),
      salt: random.bytes(16),
      ...authenticityOf(signatures),
    },
  )
  net.add(self, {
    onGossip: receive,
    onQuestion: (from, protocol, question) => answer(from, protocol, question),
    onConnected(peer) {
      exchange.onConnected(peer)
      // After the greeting.
      after(200, () => net.neighbours(self).has(peer) && exchange.onGreeted(peer))
    },
    onDisconnected: exchange.onDisconnected,
  })

  return {
    id: self,
    exchange,
    receive,
    /** Writes and publishes a group. */
    write(): GroupDraft {
      const draft = draftOf(
        random,
        [0, 1, 2, 3].map((one) => writeText(one % 2 === 0, random.next)),
      )
      const texts = draft.rollouts.map(({ text }) => text)
      void exchange.publisher.publish({ ...draft, id: contentId(draft.prompt, texts) })
      return draft
    },
    /** Without a word, as `kill -9` does. */
    kill(): void {
      life.isAlive = false
      net.remove(self)
    },
  }
}
