// One node's exchange without a network: a test asks what it serves, and answers what it asks.

import type { Datastore } from 'interface-datastore'
import { createExchange } from '../../daemon/swarm/exchange.ts'
import type { Answer, Requests } from '../../daemon/swarm/libp2p/streams.ts'
import { codec, freshIdentity, tasks } from './groups.ts'
import { virtualClock } from './heads/network.ts'

interface Options {
  /** Bytes. */
  mostPerHour?: number
  trusted?: readonly string[]
  datastore?: Datastore
  /** Answers of peers. */
  ask?: Requests['ask']
}

export async function startExchange({
  mostPerHour = 0,
  trusted = [],
  datastore,
  ask = async function* () {},
}: Options = {}) {
  const clock = virtualClock()
  const answers = new Map<string, Answer>()
  const requests: Requests = {
    isConnected: () => true,
    ask,
    async serve({ protocol }, answer) {
      answers.set(protocol, answer)
    },
  }
  const exchange = createExchange(
    { maxCompletionTokens: 200, headBytesPerHour: () => mostPerHour },
    {
      ...{ clock, tasks, codec, identity: freshIdentity(), requests: () => requests },
      ...(datastore && { datastore }),
      gossip: { publish: async () => 0, forget() {} },
      links: { cut() {}, slow() {} },
      isTrusted: (peer) => trusted.includes(peer),
      ...{ version: () => 0, isWanted: () => false },
      ...{ log() {}, onGroup() {}, onEvent() {}, onClock() {}, onImpostor() {} },
    },
  )
  await exchange.start()
  return {
    exchange,
    clock,
    /** Bytes that a peer gets. */
    async asked(peer: string, protocol: string, question: Uint8Array): Promise<number> {
      let bytes = 0
      for await (const message of answers.get(protocol)!(question, peer)) bytes += message.length
      return bytes
    },
  }
}
