// gossipsub's settings and the reason for each. The defaults suit a public network of thousands of nodes; a swarm of a
// few nodes, often behind one address, would silently fail with them.

import { createHash } from 'node:crypto'
import { type GossipsubOpts, type Message, StrictNoSign } from '@libp2p/gossipsub'

/** One frame per message; the frame carries its own signature. */
export function groupsTopic(swarm: string): string {
  return `/waggle/1/${swarm}/groups`
}

/** Derived from the bytes, so that all copies of a frame are one message, whichever peer forwards them. */
function messageId({ topic, data }: Message): Uint8Array {
  return createHash('sha256').update(topic).update('\0').update(data).digest().subarray(0, 20)
}

export function gossipOptions(topics: string[]): Partial<GossipsubOpts> {
  return {
    // The frame contains the author's signature, which is checked after the quotas. gossipsub would check its own
    // signature before them.
    globalSignaturePolicy: StrictNoSign,
    msgIdFn: messageId,
    allowedTopics: topics,
    emitSelf: false,
    allowPublishToZeroTopicPeers: true,
    ignoreDuplicatePublishError: true,
    fallbackToFloodsub: false,
    batchPublish: true,
    // Mesh degrees for small swarms: 4.0 copies of each byte at 16 nodes instead of 7.1.
    D: 4,
    Dlo: 3,
    Dhi: 8,
    Dout: 1,
    Dlazy: 4,
    floodPublish: false,
    heartbeatInterval: 700,
    mcacheLength: 6,
    mcacheGossip: 3,
    // The default of one minute keeps a returning peer out of the mesh for that long.
    pruneBackoff: 10_000,
    // A node that trains may answer late; Lodestar waits 12 s before it penalises a peer.
    gossipsubIWantFollowupMs: 12_000,
    idontwantMinDataSize: 16_829,
    // Nodes with different limits would cut each other off, so all use the same: 4 MiB per RPC, 16 MiB queued to send.
    maxInboundDataLength: 4 << 20,
    maxOutboundBufferSize: 16 << 20,
    maxInboundStreams: 4,
    maxOutboundStreams: 4,
    doPX: false,
    scoreParams: {
      // Most swarms start with many nodes behind one address; the default starts to prune them at 12.
      IPColocationFactorWeight: 0,
      behaviourPenaltyWeight: -10,
      behaviourPenaltyThreshold: 6,
      behaviourPenaltyDecay: 0.986,
      decayInterval: 1000,
      decayToZero: 0.01,
      // The default keeps scores for an hour per identity; reputation.ts remembers behaviour instead.
      retainScore: 600_000,
      topicScoreCap: 50,
      topics: Object.fromEntries(topics.map((topic) => [topic, TOPIC_SCORE])),
    },
    scoreThresholds: {
      gossipThreshold: -20,
      publishThreshold: -60,
      graylistThreshold: -150,
      acceptPXThreshold: 20,
      opportunisticGraftThreshold: 1,
    },
  }
}

/** Without an entry, rejecting a topic's messages has no effect. P3 is off, since it penalises silence. */
const TOPIC_SCORE = {
  topicWeight: 1,
  timeInMeshWeight: 0.01,
  timeInMeshQuantum: 1000,
  timeInMeshCap: 300,
  firstMessageDeliveriesWeight: 0.5,
  firstMessageDeliveriesDecay: 0.9,
  firstMessageDeliveriesCap: 40,
  meshMessageDeliveriesWeight: 0,
  meshMessageDeliveriesDecay: 0.5,
  meshMessageDeliveriesCap: 0,
  meshMessageDeliveriesThreshold: 0,
  meshMessageDeliveriesWindow: 10,
  meshMessageDeliveriesActivation: 5000,
  meshFailurePenaltyWeight: 0,
  meshFailurePenaltyDecay: 0.5,
  invalidMessageDeliveriesWeight: -20,
  invalidMessageDeliveriesDecay: 0.997,
}
