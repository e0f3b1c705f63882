// Plugins' state between real nodes, and a peer that lies, asks too often, or has never heard of it.

import { lpStream } from '@libp2p/utils'
import { afterEach, expect, test } from 'vitest'
import type { PluginStates } from '../../../daemon/swarm/types.ts'
import {
  decodeState,
  encodeHello,
  encodeStateRequest,
  HELLO_PROTOCOL,
  MAX_STATE_BYTES,
  STATE_PROTOCOL,
} from '../../../protocol/wire/index.ts'
import { startNode, stopNodes, sums, until } from '../helpers.ts'
import { hex, type Party, startParty } from '../interop/session.ts'

const parties: Party[] = []
afterEach(async () => {
  await Promise.all(parties.splice(0).map(({ node }) => node.stop()))
  await stopNodes()
})

const NAME = 'skill/book'
/** A round every 0.1 s. */
const OFTEN = { stateMinutes: 0.1 / 60 }

/** A plugin host that has this to tell, and writes down what it hears. */
function plugin(own: Uint8Array | undefined, { version = 1, name = NAME } = {}) {
  const heard: Array<{ name: string; from: string; bytes: string }> = []
  const states: PluginStates = {
    wanted: () => [{ name, version }],
    own: () => own,
    received: (name, from, bytes) => void heard.push({ name, from, bytes: Buffer.from(bytes).toString() }),
  }
  return { heard, states }
}

/** A bare node, and what it answers to a question about state; undefined: it does not speak that protocol. */
async function stranger(answer?: (question: Uint8Array) => Uint8Array): Promise<Party> {
  const hello = encodeHello({ swarm: 'test', tasks: [{ name: sums.name, version: 1 }], contacts: [] })
  const party = await startParty({
    [HELLO_PROTOCOL]: () => [hello],
    ...(answer && { [STATE_PROTOCOL]: (question) => [answer(question)] }),
  })
  parties.push(party)
  return party
}

test('a plugin’s state reaches the same plugin of a peer, but not one with another name or version', async () => {
  const a = plugin(Buffer.from('what A knows'))
  const b = plugin(Buffer.from('what B knows'))
  const newer = plugin(Buffer.from('in another form'), { version: 2 })
  const other = plugin(Buffer.from('of something else'), { name: 'selector/book' })
  const hub = await startNode(OFTEN, { states: a.states })
  for (const { states } of [b, newer, other])
    await (await startNode(OFTEN, { states })).swarm.join(hub.address)
  await until('both states', () => a.heard.length > 0 && b.heard.length > 0)
  expect(b.heard[0]).toEqual({ name: NAME, from: hub.swarm.peerId, bytes: 'what A knows' })
  expect(new Set(a.heard.map(({ bytes }) => bytes))).toEqual(new Set(['what B knows']))
  expect([...newer.heard, ...other.heard]).toEqual([])
})

test('a plugin that has nothing to tell, or too much, tells nothing, and hears all the same', async () => {
  const silent = plugin(undefined)
  const large = plugin(new Uint8Array(MAX_STATE_BYTES + 1))
  const full = plugin(new Uint8Array(MAX_STATE_BYTES).fill(120))
  const hub = await startNode(OFTEN, { states: full.states })
  for (const { states } of [silent, large]) await (await startNode(OFTEN, { states })).swarm.join(hub.address)
  await until('the state of 64 KiB at both', () => silent.heard.length > 1 && large.heard.length > 1)
  expect(silent.heard[0]!.bytes).toHaveLength(MAX_STATE_BYTES)
  expect(full.heard).toEqual([])
})

test('a node that does not speak this is left alone; one that answers nonsense is charged', async () => {
  const here = plugin(Buffer.from('here'))
  const node = await startNode(OFTEN, { states: here.states })
  const questions: Uint8Array[] = []
  const old = await stranger()
  const liar = await stranger((question) => {
    questions.push(question)
    return Uint8Array.of(0xff)
  })
  await node.swarm.join(old.address)
  await node.swarm.join(liar.address)
  const charged = () => node.swarm.peers().filter(({ score }) => score < 0)
  await until('the charge', () => charged().length > 0)
  expect(hex(questions[0]!)).toBe(hex(encodeStateRequest({ name: NAME, version: 1 })))
  expect(charged().map(({ id }) => id)).toEqual([liar.node.peerId.toString()])
  expect(here.heard).toEqual([])
})

test('a peer that asks without end is answered so often, and no more', async () => {
  const { states } = plugin(Buffer.from('state'))
  let made = 0
  const counting: PluginStates = {
    ...states,
    own(name) {
      made++
      return states.own(name)
    },
  }
  const node = await startNode({ stateMinutes: 0 }, { states: counting })
  const greedy = await stranger()
  await greedy.connect(node.address)
  const question = encodeStateRequest({ name: NAME, version: 1 })
  const peer = greedy.node.getPeers()[0]!
  let answered = 0
  const ask = async () => {
    const stream = await greedy.node.dialProtocol(peer, STATE_PROTOCOL)
    const messages = lpStream(stream)
    await messages.write(question)
    const answer = await messages.read().catch(() => undefined)
    await stream.close()
    return answer
  }
  for (let answer = await ask(); answer; answer = await ask()) {
    expect(decodeState(answer.subarray())).toEqual(new Uint8Array(Buffer.from('state')))
    answered++
  }
  expect(answered).toBe(32)
  // Made anew every ten seconds at most.
  expect(made).toBeLessThanOrEqual(2)
})
