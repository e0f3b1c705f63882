// One harness for each kind of message that a peer can send: takes bytes, and says in a word what came of them. Anything but
// an answer or a fault is thrown. Used by the test that plays the corpus and by scripts/bench/swarm/fuzz.ts, which grows it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { RPC } from '@libp2p/gossipsub/message'
import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import { groupsTopic } from '../../../daemon/swarm/gossip/config.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { pack, packedSize, unpack } from '../../../daemon/trainer/heads/blocks.ts'
import { createHeadExchange } from '../../../daemon/trainer/heads/exchange.ts'
import { distance, type Vector } from '../../../daemon/trainer/heads/vector.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  decodeAccusation,
  decodeAnnouncement,
  decodeBatch,
  decodeBulkRequest,
  decodeFetch,
  decodeGroup,
  decodeHead,
  decodeHeadRequest,
  decodeHello,
  decodeInvite,
  decodeManifest,
  decodeReceipt,
  decodeReceiptRequest,
  decodeState,
  decodeStateRequest,
  encodeBulkRequest,
  encodeInvite,
  encodeManifest,
  MAX_GOSSIP_BYTES,
  MAX_HEAD_FRAME_BYTES,
  MAX_RECEIPT_BYTES,
  openFrame,
  peerIdOf,
  WireFault,
} from '../../../protocol/wire/index.ts'
import { mutate } from '../../protocol/wire/arbitrary.ts'
import { testSigner } from '../../protocol/wire/cases.ts'
import { draft, stillClock, tasks } from '../groups.ts'
import { signedGroup } from './attacker.ts'

const clock = stillClock()
const signer = testSigner(5)
const signed = (seed: number) => signedGroup(draft(seed), signer)

/** What admission says of a frame, beside what the decoders say. */
function screenAll(): (bytes: Uint8Array) => string {
  const records = new PeerRecords({}, { clock })
  const admission = new Admission(
    { self: 'nobody', arms: ['base'] },
    { tasks, records, clock, isMuted: () => false, onImpostor: () => {} },
  )
  let count = 0
  return (bytes) => {
    // Fast enough for the quotas to matter, and from more peers than are remembered.
    clock.time += 0.5
    const result = admission.screen(bytes, `peer ${count++ % 3000}`)
    return 'refused' in result ? result.refused : 'taken'
  }
}

const read = (reader: (bytes: Uint8Array) => unknown) => (bytes: Uint8Array) => {
  reader(bytes)
  return 'read'
}

/** Any bytes as a packed vector of as many values as would have this size, and of one more. */
function unpackAny(bytes: Uint8Array): string {
  let values = bytes.length
  while (values > 0 && packedSize(values) > bytes.length) values--
  if (unpack(bytes, values + 1) && packedSize(values + 1) !== bytes.length)
    throw new Error('a vector of another size was unpacked')
  const vector = unpack(bytes, values)
  if (vector && !vector.every(Number.isFinite)) throw new Error('not finite')
  return vector ? 'read' : 'refused'
}

const HEAD_VALUES = 200
const HEAD_LAYOUT = { size: HEAD_VALUES, tensors: [{ name: 'w', at: 0, length: HEAD_VALUES }] }

/** A body as a peer's head: it is refused, or joined within the limit, or tried; and the node's weights stay finite. */
function joinBody(): (bytes: Uint8Array) => string {
  const start = Float32Array.from({ length: HEAD_VALUES }, (_, i) => Math.cos(i))
  const exchange = createHeadExchange({
    layout: HEAD_LAYOUT,
    origin: () => start,
    every: 2,
    learningRate: () => 1e-3,
    batchGroups: () => 8,
  })
  const nothing = { own: 10, foreign: 0 }
  let version = 0
  /** As after two own steps, so that there is a movement to compare with. */
  const moved = (): Vector => start.map((value, i) => value + 0.01 * Math.sin(version + i))
  return (bytes) => {
    version += 2
    if (version % 1000 === 0) exchange.reset()
    // Heads of peers that are no members are tried first, if they are far away.
    if (version % 8 === 0) exchange.dismiss(['a'])
    const weights = moved()
    exchange.make({ version, weights, at: 0 })
    exchange.ask(['a'], weights)
    const answer = exchange.take({ author: 'a', version, hash: '', ...nothing, bytes })
    exchange.answered('a')
    if (answer !== 'taken') return answer
    const apart = exchange.apart(nothing, { isSuspect: () => false, isLeft: () => false }).map(exchange.open)
    const tried = apart.flatMap((head) => [...head.weights])
    const joined = exchange.join({ version, weights, learnt: nothing }).weights
    if (!tried.every(Number.isFinite) || !joined.every(Number.isFinite)) throw new Error('not finite')
    // Own steps move it by 0.2 at most, here; four times that is the limit.
    if (distance(joined, weights) > 0.8) throw new Error('one head moved the node too far')
    return apart.length > 0 ? 'to be tried' : 'read'
  }
}

export const HARNESSES: Record<string, (bytes: Uint8Array) => string> = {
  group: read((bytes) => decodeGroup(openFrame(bytes, MAX_GOSSIP_BYTES))),
  accusation: read((bytes) => decodeAccusation(openFrame(bytes, MAX_GOSSIP_BYTES))),
  announcement: read((bytes) => decodeAnnouncement(openFrame(bytes, MAX_GOSSIP_BYTES))),
  hello: read(decodeHello),
  fetch: read(decodeFetch),
  manifest: read(decodeManifest),
  bulk: read(decodeBulkRequest),
  'state-request': read(decodeStateRequest),
  state: read(decodeState),
  invite: read((bytes) => decodeInvite(Buffer.from(bytes).toString('latin1'))),
  rpc: read((bytes) => RPC.decode(bytes)),
  head: read((bytes) => decodeHead(openFrame(bytes, MAX_HEAD_FRAME_BYTES))),
  'head-request': read(decodeHeadRequest),
  'packed-head': unpackAny,
  'joined-head': joinBody(),
  batch: read(decodeBatch),
  receipt: read((bytes) => decodeReceipt(openFrame(bytes, MAX_RECEIPT_BYTES))),
  'receipt-request': read(decodeReceiptRequest),
  admission: screenAll(),
}

/** `read`, admission’s answer, or the reason of the fault. Any other error is thrown. */
export function outcome(harness: string, bytes: Uint8Array): string {
  try {
    return HARNESSES[harness]!(bytes)
  } catch (error) {
    if (error instanceof WireFault) return `${error.reason}: ${error.message}`
    if (error instanceof WaggleError && harness === 'invite') return 'E_PEER'
    // protobuf's own; gossip-internals.ts takes any failure to decode for a malformed RPC.
    if (harness === 'rpc' && error instanceof Error && !(error instanceof TypeError)) return error.name
    throw error
  }
}

const folder = new URL('corpus/', import.meta.url)

/** Of each harness: what came of it when it was kept -> the bytes. */
export function readCorpus(): Map<string, Map<string, Uint8Array>> {
  const corpus = new Map<string, Map<string, Uint8Array>>()
  for (const name of readdirSync(folder)) {
    const lines = readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean)
    const entries = lines.map((line) => {
      const at = line.lastIndexOf('\t')
      return [line.slice(0, at), Uint8Array.from(Buffer.from(line.slice(at + 1), 'hex'))] as const
    })
    corpus.set(name.replace(/\.txt$/, ''), new Map(entries))
  }
  return corpus
}

export function writeCorpus(corpus: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>): void {
  for (const [harness, entries] of corpus) {
    const lines = [...entries].sort(([a], [b]) => (a < b ? -1 : 1))
    const text = lines.map(([said, bytes]) => `${said}\t${Buffer.from(bytes).toString('hex')}\n`).join('')
    writeFileSync(new URL(`${harness}.txt`, folder), text)
  }
}

/** What to start from where there is no corpus: the golden fixtures, and messages made up from the schemas. */
export function seeds(): Uint8Array[] {
  const fixtures = new URL('../../protocol/wire/fixtures/', import.meta.url)
  const psk = new Uint8Array(32).fill(9)
  const contact = { peerId: peerIdOf(signer.publicKey), addresses: ['/ip4/192.0.2.7/tcp/4001'] }
  return [
    ...readdirSync(fixtures)
      .filter((name) => name.endsWith('.hex'))
      .map((name) => Buffer.from(readFileSync(new URL(name, fixtures), 'utf8').replace(/\s/g, ''), 'hex')),
    encodeManifest({ size: 1_000_000, chunk: 524_288, hashes: ['ab'.repeat(32), 'cd'.repeat(32)] }),
    encodeBulkRequest({ chunk: 7 }),
    pack(Float32Array.from({ length: 200 }, (_, i) => Math.sin(i) * 10 ** ((i % 9) - 4))),
    pack(Float32Array.from({ length: HEAD_VALUES }, (_, i) => 0.05 * Math.sin(i))),
    pack(Float32Array.from({ length: HEAD_VALUES }, (_, i) => 1e36 * Math.sin(i))),
    pack(new Float32Array(HEAD_VALUES).fill(Number.POSITIVE_INFINITY)),
    pack(new Float32Array(HEAD_VALUES).fill(Number.NaN)),
    encodeBulkRequest({ manifest: 'ab'.repeat(32) }),
    Buffer.from(encodeInvite({ swarm: 'test', contacts: [contact], rules: 'ab'.repeat(32), psk }), 'latin1'),
    RPC.encode({
      subscriptions: [{ subscribe: true, topic: groupsTopic('test') }],
      messages: [{ data: signed(1), topic: groupsTopic('test') }],
      control: {
        ihave: [{ topicID: groupsTopic('test'), messageIDs: [new Uint8Array(20)] }],
        iwant: [{ messageIDs: [new Uint8Array(20)] }],
        graft: [{ topicID: groupsTopic('test') }],
        prune: [{ topicID: groupsTopic('test'), peers: [], backoff: 60 }],
        idontwant: [{ messageIDs: [new Uint8Array(20)] }],
      },
    }),
    ...Array.from({ length: 20 }, (_, i) => signed(i)),
  ].map((bytes) => Uint8Array.from(bytes))
}

/** Noise now and then, otherwise one of these with up to four mutations. */
export function next(from: readonly Uint8Array[], random: () => number): Uint8Array {
  const roll = random()
  if (roll < 0.02)
    return Uint8Array.from({ length: Math.floor(random() * 300) }, () => Math.floor(random() * 256))
  let bytes = from[Math.floor(random() * from.length)]!
  for (let n = 1 + Math.floor(random() * 4); n > 0 && bytes.length > 0; n--) bytes = mutate(bytes, random)
  return bytes
}
