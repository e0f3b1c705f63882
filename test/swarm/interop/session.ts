// A bare libp2p node that speaks Waggle's protocols by hand, byte for byte: it records what a real node says to it, and
// plays what another said before. scripts/wire/record-session.ts writes the recordings in sessions/, one for each minor
// version.

import { createPrivateKey } from 'node:crypto'
import { identify } from '@libp2p/identify'
import type { Libp2p, Stream } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { lpStream } from '@libp2p/utils'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { libp2pKey } from '../../../daemon/swarm/libp2p/swarm-node.ts'
import { type Identity, identityOf } from '../../../daemon/swarm/peers/identity.ts'
import {
  BULK_PROTOCOL,
  FETCH_PROTOCOL,
  HEAD_PROTOCOL,
  HELLO_PROTOCOL,
  MAX_FETCHED_BYTES,
  RECEIPT_PROTOCOL,
  STATE_PROTOCOL,
} from '../../../protocol/wire/index.ts'

/** All in hex. Whatever the recorded node said of its own accord, in the order in which it did, and what it answered. */
export interface Session {
  minor: number
  /** ms since 1970, by the recorded node's clock. */
  recordedAt: number
  /** Contents of the file that it offered. */
  file: string
  hello: { question: string; answer: string }
  /** RPCs on its gossip stream: a group, an announcement and, from 1.5 on, an accusation. */
  rpcs: string[]
  /** Its questions; what it answered to a list, and to being asked for the group that it announced. */
  fetch: { questions: string[]; listed: string; got: string[]; hash: string }
  /** Its questions; the manifest and the chunk that it answered. */
  bulk: { questions: string[]; manifest: string; chunk: string }
  /** From 1.1 on: its questions, and what it answered. */
  state?: { questions: string[]; answer: string }
  /** From 1.2 on: its questions for another's head; its own head, that head's bytes, and those that it asked for. */
  head?: { questions: string[]; head: string; bytes: string; asked: string }
  /** From 1.3 on: the same for receipts. */
  receipt?: { questions: string[]; receipt: string; bytes: string; asked: string }
}

/** Whoever is recorded has this key, so that what it says only of itself can be said again. */
export function recordedIdentity(): ReturnType<typeof identityOf> {
  const seed = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 12)])
  return identityOf(createPrivateKey({ key: seed, format: 'der', type: 'pkcs8' }))
}

const LATER_PROTOCOLS = [STATE_PROTOCOL, HEAD_PROTOCOL, RECEIPT_PROTOCOL]
const ONE_QUESTION = new Set<string>([HELLO_PROTOCOL, FETCH_PROTOCOL, ...LATER_PROTOCOLS])
/** A node of 1.0 speaks none of these. */
const LATER = new Set<string>(LATER_PROTOCOLS)

export type Answers = Record<string, (question: Uint8Array) => Uint8Array[]>
export const GOSSIP = '/meshsub/1.2.0'
const PROTOCOLS = [HELLO_PROTOCOL, FETCH_PROTOCOL, BULK_PROTOCOL, ...LATER_PROTOCOLS, GOSSIP]
export const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
export const unhex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'))

export interface Party {
  node: Libp2p
  address: string
  /** protocol -> what came on it, in hex. */
  heard: Record<string, string[]>
  connect(address: string): Promise<void>
  /** So many messages of the answer to questions on one stream. */
  ask(protocol: string, questions: Uint8Array[], answers: number): Promise<Uint8Array[]>
  /** On the gossip stream. */
  say(rpc: Uint8Array): Promise<void>
}

/** Answers a question with what `answers` has for its protocol, and writes down all that it hears. */
export async function startParty(
  answers: Answers,
  { identity }: { identity?: Pick<Identity, 'key'> } = {},
): Promise<Party> {
  const node = await createLibp2p({
    ...(identity && { privateKey: await libp2pKey(identity) }),
    addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify() },
  })
  const heard: Party['heard'] = {}
  const messagesOf = (stream: Stream) => lpStream(stream, { maxDataLength: MAX_FETCHED_BYTES })
  for (const protocol of PROTOCOLS) {
    heard[protocol] = []
    if (LATER.has(protocol) && !answers[protocol]) continue
    await node.handle(protocol, async (stream) => {
      try {
        const messages = messagesOf(stream)
        for (;;) {
          const question = (await messages.read()).subarray()
          heard[protocol]!.push(hex(question))
          for (const answer of answers[protocol]?.(question) ?? []) await messages.write(answer)
          if (ONE_QUESTION.has(protocol)) return await stream.close()
        }
      } catch {
        // The other side is done.
      }
    })
  }
  const peer = () => node.getPeers()[0]!
  let gossip: Stream | undefined
  return {
    node,
    heard,
    address: node.getMultiaddrs()[0]!.toString(),
    async connect(address) {
      await node.dial(multiaddr(address))
    },
    async ask(protocol, questions, count) {
      const messages = messagesOf(await node.dialProtocol(peer(), protocol))
      for (const question of questions) await messages.write(question)
      const got: Uint8Array[] = []
      while (got.length < count) got.push((await messages.read()).subarray().slice())
      return got
    },
    async say(rpc) {
      gossip ??= await node.dialProtocol(peer(), GOSSIP)
      await lpStream(gossip).write(rpc)
    },
  }
}
