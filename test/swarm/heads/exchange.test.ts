// Heads between real nodes over libp2p, and peers that answer with something else.

import { lpStream } from '@libp2p/utils'
import { afterEach, describe, expect, test } from 'vitest'
import {
  HEAD_CHUNK_BYTES as CHUNK,
  decodeHeadRequest,
  encodeHead,
  encodeHeadRequest,
  encodeHello,
  HEAD_PROTOCOL,
  HELLO_PROTOCOL,
  MAX_HEAD_FRAME_BYTES,
  type Signer,
} from '../../../protocol/wire/index.ts'
import {
  draft,
  freshDatastore,
  freshIdentity,
  startNode,
  stopNodes,
  sums,
  type TestNode,
  until,
} from '../helpers.ts'
import { signedGroup } from '../hostile/attacker.ts'
import { type Party, startParty } from '../interop/session.ts'
import { bytesOf, FACTS, LINEAGE, sha256 } from './network.ts'

const SIZE = CHUNK + 100_000
const BYTES = bytesOf(SIZE)
const parties: Party[] = []
afterEach(async () => {
  await Promise.all(parties.splice(0).map(({ node }) => node.stop()))
  await stopNodes()
})

async function pair(options = {}): Promise<[TestNode, TestNode]> {
  const [a, b] = [await startNode(options), await startNode(options)]
  await b.swarm.join(a.address)
  await until('the link', () => a.swarm.peers().some(({ connected }) => connected))
  return [a, b]
}

const scoreOf = ({ swarm }: TestNode, peer: string): number | undefined =>
  swarm.peers().find(({ id }) => id === peer)?.score

describe('two nodes', () => {
  test('exchange heads, byte for byte, and neither is charged', async () => {
    const [a, b] = await pair()
    const others = bytesOf(SIZE, 2)
    const facts = { ...FACTS, tasks: [{ name: 'sums', difficulty: 2, accuracy: 0.25 }] }
    a.swarm.heads.offer(facts, BYTES)
    b.swarm.heads.offer({ ...FACTS, version: 9 }, others)
    const [ofA, ofB] = await Promise.all([
      b.swarm.heads.ask(a.swarm.peerId, LINEAGE),
      a.swarm.heads.ask(b.swarm.peerId, LINEAGE),
    ])
    expect(ofA).toMatchObject({ ...facts, author: a.swarm.peerId, size: SIZE, hash: sha256(BYTES) })
    const [got, back] = await Promise.all([
      b.swarm.heads.fetch(ofA!, { size: SIZE }),
      a.swarm.heads.fetch(ofB!, { size: SIZE }),
    ])
    expect(sha256(got!)).toBe(sha256(BYTES))
    expect(sha256(back!)).toBe(sha256(others))
    expect(a.swarm.heads.bytes).toEqual({ in: SIZE, out: SIZE })
    expect([scoreOf(a, b.swarm.peerId), scoreOf(b, a.swarm.peerId)]).toEqual([0, 0])
  })

  test('have nothing for each other if they are of different lineages', async () => {
    const [a, b] = await pair()
    a.swarm.heads.offer(FACTS, BYTES)
    expect(await b.swarm.heads.ask(a.swarm.peerId, 'cd'.repeat(32))).toBeNull()
    expect(scoreOf(b, a.swarm.peerId)).toBe(0)
  })

  test('a muted peer gets nothing and is not asked', async () => {
    const [a, b] = await pair()
    a.swarm.heads.offer(FACTS, BYTES)
    b.swarm.heads.offer(FACTS, bytesOf(SIZE, 2))
    const head = await b.swarm.heads.ask(a.swarm.peerId, LINEAGE)
    a.swarm.mute(b.swarm.peerId, true)
    expect(await b.swarm.heads.ask(a.swarm.peerId, LINEAGE)).toBeUndefined()
    expect(await b.swarm.heads.fetch(head!, { size: SIZE })).toBeUndefined()
    expect(await a.swarm.heads.ask(b.swarm.peerId, LINEAGE)).toBeUndefined()
    expect(scoreOf(b, a.swarm.peerId)).toBe(0)
  })

  test('on one machine or local network, no hourly limit counts', async () => {
    const [a, b] = await pair({ headBytesPerHour: () => 10 })
    a.swarm.heads.offer(FACTS, BYTES)
    const head = await b.swarm.heads.ask(a.swarm.peerId, LINEAGE)
    expect(sha256((await b.swarm.heads.fetch(head!, { size: SIZE }))!)).toBe(sha256(BYTES))
  })

  test('a node that restarts between telling of its head and being asked for it is not charged', async () => {
    const identity = freshIdentity()
    const first = await startNode({}, { identity })
    const b = await startNode({}, { datastore: await freshDatastore() })
    await b.swarm.join(first.address)
    first.swarm.heads.offer(FACTS, BYTES)
    const head = await b.swarm.heads.ask(identity.peerId, LINEAGE)
    await first.swarm.stop()
    expect(await b.swarm.heads.fetch(head!, { size: SIZE })).toBeUndefined()
    const second = await startNode({}, { identity })
    await b.swarm.join(second.address)
    expect(await b.swarm.heads.fetch(head!, { size: SIZE })).toBeUndefined()
    second.swarm.heads.offer({ ...FACTS, version: 9 }, bytesOf(SIZE, 2))
    const next = await b.swarm.heads.ask(identity.peerId, LINEAGE)
    expect(sha256((await b.swarm.heads.fetch(next!, { size: SIZE }))!)).toBe(sha256(bytesOf(SIZE, 2)))
    expect(scoreOf(b, identity.peerId)).toBe(0)
  }, 30_000)
})

interface Answers {
  head?(signer: Signer): Uint8Array[]
  chunks?(from: number): Uint8Array[]
}

const truth = (signer: Signer) => {
  const facts = { ...FACTS, hash: sha256(BYTES), size: SIZE, createdAt: Date.now() }
  return encodeHead(facts, signer)
}
const [FIRST, SECOND] = [BYTES.subarray(0, CHUNK), BYTES.subarray(CHUNK)]

/** A node and a peer that it has joined, which answers by hand. */
async function withPeer({ head = (signer) => [truth(signer)], chunks = () => [FIRST, SECOND] }: Answers) {
  const identity = freshIdentity()
  const hello = encodeHello({ swarm: 'test', tasks: [{ name: sums.name, version: 1 }], contacts: [] })
  const party = await startParty(
    {
      [HELLO_PROTOCOL]: () => [hello],
      [HEAD_PROTOCOL](question) {
        const request = decodeHeadRequest(question)
        return 'lineage' in request ? head(identity.signer) : chunks(request.from)
      },
    },
    { identity },
  )
  parties.push(party)
  const node = await startNode()
  await node.swarm.join(party.address)
  const peer = identity.peerId
  /** Asks, and fetches what it heard of. */
  const exchange = async () => {
    const told = await node.swarm.heads.ask(peer, LINEAGE)
    return told && (await node.swarm.heads.fetch(told, { size: SIZE }))
  }
  return { node, party, peer, exchange }
}

describe('a peer that answers', () => {
  test('as it should is not charged', async () => {
    const { node, peer, exchange } = await withPeer({})
    expect(sha256((await exchange())!)).toBe(sha256(BYTES))
    expect(scoreOf(node, peer)).toBe(0)
  })

  test.each<[string, Answers]>([
    ['garbage', { head: () => [Uint8Array.of(0xff, 1, 2)] }],
    ['a group', { head: (signer) => [signedGroup(draft(1), signer)] }],
    ['a head that another has signed', { head: () => [truth(freshIdentity().signer)] }],
    [
      'a head whose signature is broken',
      {
        head(signer) {
          const frame = truth(signer)
          frame[50]! ^= 1
          return [frame]
        },
      },
    ],
    [
      'a head of another lineage',
      {
        head: (signer) => [
          encodeHead(
            { ...FACTS, lineage: 'cd'.repeat(32), hash: sha256(BYTES), size: SIZE, createdAt: 0 },
            signer,
          ),
        ],
      },
    ],
    ['a frame that is a byte too long', { head: () => [new Uint8Array(MAX_HEAD_FRAME_BYTES + 1)] }],
    ['a frame of 1 MiB', { head: () => [new Uint8Array(1 << 20)] }],
    ['bytes whose hash is wrong', { chunks: () => [FIRST, bytesOf(SECOND.length, 9)] }],
    ['empty chunks', { chunks: () => Array.from({ length: 100 }, () => new Uint8Array()) }],
    ['too few bytes', { chunks: () => [FIRST, SECOND.subarray(1)] }],
    ['too many bytes', { chunks: () => [FIRST, bytesOf(SECOND.length + 1)] }],
    ['a chunk of 1 MiB', { chunks: () => [new Uint8Array(1 << 20)] }],
  ])('with %s is charged, once, and nothing else happens', async (_, answers) => {
    const { node, peer, exchange } = await withPeer(answers)
    expect(await exchange()).toBeUndefined()
    // A reject costs 5, and a little of it is forgotten at once.
    expect(scoreOf(node, peer)).toBeCloseTo(-5, 1)
    expect(node.swarm.peers().find(({ id }) => id === peer)?.connected).toBe(true)
  })

  test('with lies alone is cut off after the fifth', async () => {
    const { node, peer, exchange } = await withPeer({ head: () => [Uint8Array.of(0xff)] })
    for (let i = 0; i < 5; i++) await exchange()
    await until('the cut', () => !node.swarm.peers().some(({ id, connected }) => id === peer && connected))
  })

  test('with nothing, or with a head of a size that no model of this lineage has, is not charged', async () => {
    const { node, peer } = await withPeer({ chunks: () => [] })
    const told = await node.swarm.heads.ask(peer, LINEAGE)
    expect(await node.swarm.heads.fetch(told!, { size: SIZE })).toBeUndefined()
    expect(await node.swarm.heads.fetch(told!, { size: SIZE - 1 })).toBeUndefined()
    expect(scoreOf(node, peer)).toBe(0)
  })

  test('in pieces is asked for the rest', async () => {
    const { node, peer, exchange } = await withPeer({ chunks: (from) => [[FIRST, SECOND][from]!] })
    expect(sha256((await exchange())!)).toBe(sha256(BYTES))
    expect(scoreOf(node, peer)).toBe(0)
  })

  test('by another version’s major is not charged', async () => {
    const { node, peer, exchange } = await withPeer({
      head(signer) {
        const frame = truth(signer)
        frame[1] = 2
        return [frame]
      },
    })
    expect(await exchange()).toBeUndefined()
    expect(scoreOf(node, peer)).toBe(0)
  })
})

describe('a peer that asks', () => {
  test('again and again is answered 32 times and a few more', async () => {
    const { node, party } = await withPeer({})
    node.swarm.heads.offer(FACTS, BYTES)
    const [toNode] = party.node.getPeers()
    const ask = async (): Promise<boolean> => {
      const stream = await party.node.dialProtocol(toNode!, HEAD_PROTOCOL)
      const messages = lpStream(stream)
      await messages.write(encodeHeadRequest({ lineage: LINEAGE }))
      const isAnswered = (await messages.read()).length > 0
      await stream.close()
      return isAnswered
    }
    const started = performance.now()
    let answered = 0
    for (let i = 0; i < 200; i++) if (await ask().catch(() => false)) answered++
    expect(answered).toBeGreaterThanOrEqual(32)
    expect(answered).toBeLessThanOrEqual(33 + (performance.now() - started) / 1000)
  }, 60_000)

  test('and does not read holds back a few megabytes of a large head, and nobody else', async () => {
    const { node, party } = await withPeer({})
    const large = new Uint8Array(64 << 20)
    node.swarm.heads.offer(FACTS, large)
    const [toNode] = party.node.getPeers()
    const stream = await party.node.dialProtocol(toNode!, HEAD_PROTOCOL)
    stream.pause()
    await lpStream(stream).write(encodeHeadRequest({ head: sha256(large), from: 0 }))
    await until('the first bytes', () => node.swarm.heads.bytes.out > 0)
    const other = await startNode()
    await other.swarm.join(node.address)
    const told = await other.swarm.heads.ask(node.swarm.peerId, LINEAGE)
    expect(told?.size).toBe(large.length)
    expect(node.swarm.heads.bytes.out).toBeLessThan(8 << 20)
  }, 30_000)
})
