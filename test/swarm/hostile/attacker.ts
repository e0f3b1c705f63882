// A hostile node: plain libp2p with gossipsub, or a bare stream that speaks gossipsub's protocol, and none of our manners.

import { generateKeyPair } from '@libp2p/crypto/keys'
import { type GossipSub, gossipsub, StrictNoSign } from '@libp2p/gossipsub'
import { type Identify, identify } from '@libp2p/identify'
import type { Libp2p, Stream } from '@libp2p/interface'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p } from 'libp2p'
import { groupsTopic } from '../../../daemon/swarm/gossip/config.ts'
import { encodeGroup, type GroupDraft, type Signer, sealFrame } from '../../../protocol/wire/index.ts'
import { freshIdentity } from '../groups.ts'

export type Attacker = Libp2p<{ identify: Identify; pubsub: GossipSub }>

const running: Libp2p[] = []

/** Joins the topic as an ordinary gossipsub node would. */
export async function startAttacker(address: string, swarm = 'test'): Promise<Attacker> {
  const node = await createLibp2p<{ identify: Identify; pubsub: GossipSub }>({
    privateKey: await generateKeyPair('Ed25519'),
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: {
      identify: identify(),
      pubsub: (components) =>
        gossipsub({
          globalSignaturePolicy: StrictNoSign,
          allowPublishToZeroTopicPeers: true,
          floodPublish: true,
        })(components),
    },
  })
  running.push(node)
  await node.start()
  node.services.pubsub.subscribe(groupsTopic(swarm))
  await node.dial(multiaddr(address))
  const end = performance.now() + 5000
  while (node.services.pubsub.getSubscribers(groupsTopic(swarm)).length === 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 20))
  return node
}

/** Connects without gossipsub and opens its protocol by hand. */
export async function startRawAttacker(address: string): Promise<{ node: Libp2p; stream: Stream }> {
  const node = await createLibp2p({
    privateKey: await generateKeyPair('Ed25519'),
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    services: { identify: identify() },
  })
  running.push(node)
  await node.start()
  await node.handle('/meshsub/1.2.0', () => {})
  const connection = await node.dial(multiaddr(address))
  return { node, stream: await connection.newStream('/meshsub/1.2.0') }
}

export async function stopAttackers(): Promise<void> {
  await Promise.all(running.splice(0).map((node) => node.stop()))
}

export async function publish(attacker: Attacker, frame: Uint8Array, swarm = 'test'): Promise<void> {
  await attacker.services.pubsub.publish(groupsTopic(swarm), frame).catch(() => {})
}

let sequence = Date.now()

/** As a polite client would sign it, under an identity of the attacker's choice. */
export function signedGroup(group: GroupDraft, signer: Signer = freshIdentity().signer): Uint8Array {
  return encodeGroup({ ...group, sequence: ++sequence, createdAt: Date.now() }, signer)
}

/** Any body, signed properly. */
export function signedBody(body: Uint8Array, signer: Signer = freshIdentity().signer): Uint8Array {
  return sealFrame(1, body, signer)
}

/** Protobuf: varint length, then the bytes. */
export function lengthPrefixed(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const prefix: number[] = []
  let rest = length
  for (; rest > 127; rest = Math.floor(rest / 128)) prefix.push((rest % 128) | 128)
  prefix.push(rest)
  return Uint8Array.from([...prefix, ...bytes])
}
