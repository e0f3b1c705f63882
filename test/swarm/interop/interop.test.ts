// Nodes of other versions. A recorded session of each earlier minor is played to this node, word for word, which must take
// part in it as the recorded one's partner did; newer minors may say more; another major is left alone.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RPC } from '@libp2p/gossipsub/message'
import { afterEach, describe, expect, test } from 'vitest'
import { groupsTopic } from '../../../daemon/swarm/gossip/config.ts'
import {
  type Accusation,
  BULK_PROTOCOL,
  decodeFetch,
  decodeHead,
  decodeHeadRequest,
  decodeHello,
  decodeReceipt,
  decodeReceiptRequest,
  encodeHead,
  FETCH_PROTOCOL,
  HEAD_PROTOCOL,
  HELLO_PROTOCOL,
  joinHashes,
  MAX_HEAD_FRAME_BYTES,
  MAX_RECEIPT_BYTES,
  openFrame,
  RECEIPT_PROTOCOL,
  readCbor,
  STATE_PROTOCOL,
  type Writable,
  writeCbor,
} from '../../../protocol/wire/index.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { newReceipt, receipt as oldReceipt } from '../../protocol/wire/receipts.ts'
import { draft, startNode, stopNodes, sums, until, worldClock } from '../helpers.ts'
import { signedGroup } from '../hostile/attacker.ts'
import { hex, type Party, recordedIdentity, type Session, startParty, unhex } from './session.ts'

const tasks = [{ name: sums.name, version: sums.version }]
const folder = new URL('sessions/', import.meta.url)
const sessions = readdirSync(folder).map(
  (name) => [name, JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Session] as const,
)
const parties: Party[] = []
afterEach(async () => {
  await Promise.all(parties.splice(0).map(({ node }) => node.stop()))
  await stopNodes()
})

/** This node, at the time of the recording; a group would be too old otherwise. */
function startAt(recordedAt: number, onAccusation?: (accusation: Accusation) => void) {
  const shift = recordedAt - Date.now()
  const clock = { ...worldClock, now: () => Date.now() + shift }
  return startNode({ tasks, maxCompletionTokens: 50_000 }, { clock, onAccusation })
}

async function party(...args: Parameters<typeof startParty>): Promise<Party> {
  const made = await startParty(...args)
  parties.push(made)
  return made
}

describe.each(sessions)('a node of version %s', (_, session) => {
  /** Answers as the recorded node did. */
  const old = () =>
    party({
      [HELLO_PROTOCOL]: () => [unhex(session.hello.answer)],
      [FETCH_PROTOCOL]: (question) =>
        'list' in decodeFetch(question) ? [joinHashes([])] : session.fetch.got.map(unhex),
    })

  test('is greeted, its group, announcement and accusation are accepted, and the announced group is fetched from it', async () => {
    const accusations: Accusation[] = []
    const node = await startAt(session.recordedAt, (one) => accusations.push(one))
    const peer = await old()
    await peer.connect(node.address)
    const [answer] = await peer.ask(HELLO_PROTOCOL, [unhex(session.hello.question)], 1)
    expect(decodeHello(answer!)).toMatchObject({ swarm: 'test', tasks, protocol: [1, expect.any(Number)] })
    for (const rpc of session.rpcs) await peer.say(unhex(rpc))
    await until('both groups', () => node.groups.length === 2)
    expect(node.groups.map(({ prompt }) => prompt.seed).sort()).toEqual([1, 2])
    expect(node.swarm.counters().refused).toEqual({})
    expect(accusations).toMatchObject(session.minor < 5 ? [] : [{ size: 300, step: 1 }])
    expect(peer.heard[FETCH_PROTOCOL]!.map((question) => decodeFetch(unhex(question)))).toContainEqual({
      get: [session.fetch.hash],
    })
    expect(node.swarm.peers().some(({ connected }) => connected)).toBe(true)
  })

  test('gets the recorded answers to its requests for recent frames and for frames by hash, byte for byte', async () => {
    const node = await startAt(session.recordedAt)
    const peer = await old()
    await peer.connect(node.address)
    for (const rpc of session.rpcs) await peer.say(unhex(rpc))
    await until('both groups', () => node.groups.length === 2)
    const [list] = session.fetch.questions.map(unhex)
    const [listed] = await peer.ask(FETCH_PROTOCOL, [list!], 1)
    expect(
      [...Array(listed!.length / 32).keys()].map((i) => hex(listed!.subarray(i * 32, i * 32 + 32))),
    ).toEqual(expect.arrayContaining([session.fetch.hash]))
    const get = writeCbor({ get: unhex(session.fetch.hash) })
    expect((await peer.ask(FETCH_PROTOCOL, [get], 2)).map(hex)).toEqual(session.fetch.got)
  })

  test('offers and fetches files as before', async () => {
    const home = mkdtempSync(join(tmpdir(), 'waggle-interop-'))
    try {
      const file = unhex(session.file)
      const manifest = unhex(session.bulk.manifest)
      const id = createHash('sha256').update(manifest).digest('hex')
      const node = await startAt(session.recordedAt)
      const peer = await party({
        [HELLO_PROTOCOL]: () => [unhex(session.hello.answer)],
        [BULK_PROTOCOL]: (question) => [
          hex(question) === hex(writeCbor({ chunk: 0 })) ? unhex(session.bulk.chunk) : manifest,
        ],
      })
      await peer.connect(node.address)
      const path = join(home, 'copy')
      await node.swarm.download({
        id,
        from: peer.node.peerId.toString(),
        path,
        signal: AbortSignal.timeout(10_000),
      })
      expect(hex(readFileSync(path))).toBe(session.file)
      writeFileSync(join(home, 'file'), file)
      expect((await node.swarm.offer({ path: join(home, 'file') })).id).toBe(id)
      const questions = [writeCbor({ manifest: unhex(id) }), writeCbor({ chunk: 0 })]
      const got = await peer.ask(BULK_PROTOCOL, questions, 2)
      expect(got.map(hex)).toEqual([session.bulk.manifest, session.bulk.chunk])
    } finally {
      rmSync(home, { recursive: true })
    }
  })
})

describe.each(sessions.filter(([, { state }]) => state))('a node of version %s', (_, { state, hello }) => {
  test('exchanges the state of plugins', async () => {
    const heard: string[] = []
    const states = {
      wanted: () => [{ name: 'skill/book', version: 1 }],
      own: () => Buffer.from('what this one knows'),
      received: (_name: string, _from: string, bytes: Uint8Array) => void heard.push(hex(bytes)),
    }
    const node = await startNode({ tasks, stateMinutes: 1 / 600 }, { states })
    const peer = await party({
      [HELLO_PROTOCOL]: () => [unhex(hello.answer)],
      [STATE_PROTOCOL]: () => [unhex(state!.answer)],
    })
    await peer.connect(node.address)
    const [answer] = await peer.ask(STATE_PROTOCOL, [unhex(state!.questions[0]!)], 1)
    expect(hex(answer!)).toBe(state!.answer)
    await until('its state', () => heard.length > 0)
    expect(heard[0]).toBe(hex(Buffer.from('what this one knows')))
  })
})

describe.each(sessions.filter(([, { head }]) => head))(
  'a node of version %s',
  (_, { head: recorded, hello }) => {
    const { questions, head, bytes, asked } = recorded!
    const lineage = 'ab'.repeat(32)

    test('gives its head and its bytes to this node', async () => {
      const identity = recordedIdentity()
      const peer = await party(
        {
          [HELLO_PROTOCOL]: () => [unhex(hello.answer)],
          [HEAD_PROTOCOL]: (question) => [unhex('lineage' in decodeHeadRequest(question) ? head : bytes)],
        },
        { identity },
      )
      const node = await startNode({ tasks })
      await node.swarm.join(peer.address)
      const told = await node.swarm.heads.ask(identity.peerId, lineage)
      expect(told).toMatchObject({ lineage, author: identity.peerId, version: 12, own: 40, foreign: 90 })
      const got = await node.swarm.heads.fetch(told!, { size: bytes.length / 2 })
      expect(hex(got!)).toBe(bytes)
      expect(node.swarm.peers().find(({ id }) => id === identity.peerId)?.score).toBe(0)
    })

    test('gets this node’s head and its bytes', async () => {
      const node = await startNode({ tasks })
      const peer = await party({ [HELLO_PROTOCOL]: () => [unhex(hello.answer)] })
      await peer.connect(node.address)
      node.swarm.heads.offer({ lineage, version: 1, own: 2, foreign: 3, tasks: [] }, unhex(asked))
      const [told] = await peer.ask(HEAD_PROTOCOL, [unhex(questions[0]!)], 1)
      expect(decodeHead(openFrame(told!, MAX_HEAD_FRAME_BYTES)).author).toBe(node.swarm.peerId)
      const [got] = await peer.ask(HEAD_PROTOCOL, [unhex(questions[1]!)], 1)
      expect(hex(got!)).toBe(asked)
    })
  },
)

describe.each(sessions.filter(([, { receipt }]) => receipt))(
  'a node of version %s',
  (_, { minor, receipt: recorded, hello }) => {
    const { questions, receipt, bytes, asked } = recorded!
    const described = minor < 4 ? oldReceipt : newReceipt
    const lineage = 'ab'.repeat(32)

    test('gives its receipt and the bytes behind it to this node', async () => {
      const identity = recordedIdentity()
      const peer = await party(
        {
          [HELLO_PROTOCOL]: () => [unhex(hello.answer)],
          [RECEIPT_PROTOCOL]: (question) => [
            unhex('lineage' in decodeReceiptRequest(question) ? receipt : bytes),
          ],
        },
        { identity },
      )
      const node = await startNode({ tasks })
      await node.swarm.join(peer.address)
      const told = await node.swarm.receipts.ask(identity.peerId, lineage)
      const { createdAt: _, ...own } = described
      expect(told?.receipt).toMatchObject({ ...own, author: identity.peerId })
      const hash = createHash('sha256').update(unhex(bytes)).digest('hex')
      const got = await node.swarm.receipts.fetch(identity.peerId, { hash, size: bytes.length / 2 })
      expect(hex(got!)).toBe(bytes)
      expect(node.swarm.peers().find(({ id }) => id === identity.peerId)?.score).toBe(0)
    })

    test('gets this node’s receipt and the bytes behind it', async () => {
      const node = await startNode({ tasks })
      const peer = await party({ [HELLO_PROTOCOL]: () => [unhex(hello.answer)] })
      await peer.connect(node.address)
      node.swarm.receipts.tell({ offer: () => newReceipt, bytes: async () => unhex(asked), steps: 1 })
      const [told] = await peer.ask(RECEIPT_PROTOCOL, [unhex(questions[0]!)], 1)
      expect(decodeReceipt(openFrame(told!, MAX_RECEIPT_BYTES)).author).toBe(node.swarm.peerId)
      const [got] = await peer.ask(RECEIPT_PROTOCOL, [unhex(questions[1]!)], 1)
      expect(hex(got!)).toBe(asked)
    })
  },
)

describe.each(sessions.filter(([, { receipt }]) => !receipt))(
  'a node of version %s, which knows no receipts',
  (_, { hello }) => {
    test('is asked for one, has none, and is charged with nothing', async () => {
      const node = await startNode({ tasks })
      const peer = await party({ [HELLO_PROTOCOL]: () => [unhex(hello.answer)] })
      await peer.connect(node.address)
      const id = peer.node.peerId.toString()
      const isKnown = () => node.swarm.peers().some((one) => one.id === id && one.connected)
      await until('it is a peer', isKnown)
      for (let i = 0; i < 10; i++) expect(await node.swarm.receipts.ask(id, 'ab'.repeat(32))).toBeUndefined()
      expect(node.swarm.peers().find((one) => one.id === id)).toMatchObject({ connected: true, score: 0 })
    })
  },
)

describe.each(sessions.filter(([, { head }]) => !head))(
  'a node of version %s, which knows no heads',
  (_, session) => {
    test('is asked for one, and goes on exchanging groups, charged with nothing', async () => {
      const node = await startAt(session.recordedAt)
      const peer = await party({
        [HELLO_PROTOCOL]: () => [unhex(session.hello.answer)],
        [FETCH_PROTOCOL]: (question) =>
          'list' in decodeFetch(question) ? [joinHashes([])] : session.fetch.got.map(unhex),
      })
      await peer.connect(node.address)
      const id = peer.node.peerId.toString()
      for (let i = 0; i < 10; i++) expect(await node.swarm.heads.ask(id, 'ab'.repeat(32))).toBeUndefined()
      for (const rpc of session.rpcs) await peer.say(unhex(rpc))
      await until('both groups', () => node.groups.length === 2)
      expect(node.swarm.peers().find((one) => one.id === id)).toMatchObject({ connected: true, score: 0 })
    })
  },
)

test('a head that comes by gossip is ignored, as by nodes that know none, and nobody is charged', async () => {
  const node = await startNode({ tasks })
  const peer = await party({})
  await peer.connect(node.address)
  const facts = {
    lineage: 'ab'.repeat(32),
    hash: 'cd'.repeat(32),
    size: 9,
    version: 1,
    own: 1,
    foreign: 1,
    tasks: [],
  }
  const data = encodeHead({ ...facts, createdAt: Date.now() }, testSigner(6))
  await peer.say(RPC.encode({ subscriptions: [], messages: [{ data, topic: groupsTopic('test') }] }))
  await until('the refusal', () => node.swarm.counters().refused.kind === 1)
  const id = peer.node.peerId.toString()
  expect(node.swarm.peers().find((one) => one.id === id)).toMatchObject({ connected: true, score: 0 })
})

describe('a node of a version to come', () => {
  const signer = testSigner(6)
  /** What a later version would send: the minor it is, fields that nobody here knows, and a signature over all of it. */
  const later = (seed: number, { major = 1, minor = 9 } = {}) => {
    const frame = signedGroup(draft(seed), signer)
    const body = toWritable(readCbor(frame.subarray(100))) as { [key: string]: Writable }
    const all = writeCbor({ ...body, temperature: 7, style: { deep: [1, 'x'] } })
    const header = Uint8Array.from([0x57, major, minor, 1, ...signer.publicKey])
    const signature = signer.sign(Buffer.concat([Buffer.from('waggle/frame\0'), header, all]))
    return Uint8Array.from([...header, ...signature, ...all])
  }
  const topic = groupsTopic('test')
  const gossip = (data: Uint8Array) => RPC.encode({ subscriptions: [], messages: [{ data, topic }] })

  test('a newer minor is understood, in groups and in hello, and fields that it adds are skipped', async () => {
    const node = await startNode({ tasks })
    const peer = await party({})
    await peer.connect(node.address)
    const hello = writeCbor({
      protocol: [1, 9],
      swarm: 'test',
      tasks: [['sums', 1]],
      contacts: [],
      colour: [1],
    })
    const [answer] = await peer.ask(HELLO_PROTOCOL, [hello], 1)
    expect(decodeHello(answer!).swarm).toBe('test')
    await peer.say(gossip(later(5)))
    await until('the group', () => node.groups.length === 1)
    expect(node.groups[0]!.prompt.seed).toBe(5)
    const question = writeCbor({ list: 60_000, tasks: [], order: 'newest' })
    const [listed] = await peer.ask(FETCH_PROTOCOL, [question], 1)
    expect(listed!.length).toBe(32)
  })

  test('the same new fields under the current minor are refused', async () => {
    const node = await startNode({ tasks })
    const peer = await party({})
    await peer.connect(node.address)
    await peer.say(gossip(later(5, { minor: 0 })))
    await until('the refusal', () => node.swarm.counters().refused.schema === 1)
  })

  test('another major is ignored: nothing is accepted and nobody is charged', async () => {
    const node = await startNode({ tasks })
    const peer = await party({})
    await peer.connect(node.address)
    for (let i = 0; i < 20; i++) await peer.say(gossip(later(i, { major: 2 })))
    await until('the refusals', () => node.swarm.counters().refused.version === 20)
    expect(node.groups).toEqual([])
    const id = peer.node.peerId.toString()
    expect(node.swarm.peers().find((one) => one.id === id)).toMatchObject({ connected: true, score: 0 })
  })
})

function toWritable(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, of]) => [key, toWritable(of)]))
  return Array.isArray(value) ? value.map(toWritable) : value
}
