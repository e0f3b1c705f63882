// The only file that uses internals of gossipsub 17.1.1: its streams, for the link checks, and the places where data
// enters and leaves, so that incoming data is checked before it is decoded. test/swarm/links/links.test.ts fails if an
// upgrade changes them.

import type { GossipSub, Message } from '@libp2p/gossipsub'
import type { Connection, PeerId } from '@libp2p/interface'

interface Rpc {
  subscriptions: unknown[]
  messages: Array<{ data?: Uint8Array; topic: string }>
  control?: {
    ihave: Array<{ messageIDs: unknown[] }>
    iwant: Array<{ messageIDs: unknown[] }>
    graft: unknown[]
    prune: Array<{ backoff?: number }>
    idontwant: Array<{ messageIDs: unknown[] }>
  }
}

type Chunk = { byteLength: number; subarray(): Uint8Array }

interface Outbound {
  rawStream: { writeBufferLength: number }
  /** All incoming bytes pass through here. */
  pushPrefixed(bytes: { byteLength: number }): void
}

interface Internals {
  peers: Map<string, PeerId>
  mesh: Map<string, Set<string>>
  streamsInbound: Map<string, { source: AsyncIterable<Chunk> }>
  streamsOutbound: Map<string, Outbound>
  decodeRpc(bytes: Uint8Array): Rpc
  handleReceivedRpc(from: PeerId, rpc: Rpc): Promise<void>
  pipePeerReadStream(peerId: PeerId, source: AsyncIterable<Chunk>): Promise<void>
  handlePeerReadStreamError(error: Error, peerId: PeerId): void
  seenCache: { entries: Map<string, unknown> }
  msgIdFn(message: Message): Uint8Array
  msgIdToStrFn(id: Uint8Array): string
  getScore(peer: string): number
  onPeerConnected(peerId: PeerId, connection: Connection): void
}

interface RpcWeight {
  messages: number
  /** Number of control entries and message IDs in them, including subscriptions. */
  control: number
}

/** Called for gossip traffic before gossipsub processes it. None of these may throw. */
export interface GossipGuard {
  /** A whole RPC has arrived. Return false to drop it undecoded. */
  frame(peer: string, bytes: number): boolean
  /** An RPC was decoded. Return false to drop it. */
  rpc(peer: string, weight: RpcWeight): boolean
  /** An RPC could not be decoded. */
  malformed(peer: string): void
  /**
   * The peer announced an RPC that is longer than allowed. gossipsub then ignores the peer for as long as the
   * connection lives.
   */
  oversize(peer: string): void
  /** This many bytes are about to be sent to the peer. */
  sent(peer: string, bytes: number): void
  /** The peer has used up its turn; its remaining RPCs wait while others get theirs. */
  busy(peer: string): void
}

/** RPCs of one peer per turn. A new group costs up to a millisecond, including forwarding it. */
const TURN = 16

/** Cap on PRUNE back-off, which is an unsigned 64-bit number of seconds that the peer chooses (Lighthouse #8955). */
const MAX_BACKOFF_S = 3600

/** Checks a peer's bytes before gossipsub processes them. Call before gossipsub starts. */
export function guardGossip(pubsub: GossipSub, guard: GossipGuard): void {
  const inner = pubsub as unknown as Internals
  const keep = inner.streamsOutbound.set.bind(inner.streamsOutbound)
  inner.streamsOutbound.set = (peer, stream) => {
    const push = stream.pushPrefixed.bind(stream)
    stream.pushPrefixed = (bytes) => {
      push(bytes)
      guard.sent(peer, bytes.byteLength)
    }
    return keep(peer, stream)
  }
  inner.pipePeerReadStream = async (peerId, source) => {
    const peer = peerId.toString()
    let inTurn = 0
    try {
      for await (const chunk of source) {
        if (++inTurn > TURN) {
          inTurn = 0
          guard.busy(peer)
          await new Promise(setImmediate)
        }
        if (!guard.frame(peer, chunk.byteLength)) continue
        let rpc: Rpc
        try {
          rpc = inner.decodeRpc(chunk.subarray())
        } catch {
          guard.malformed(peer)
          continue
        }
        for (const prune of rpc.control?.prune ?? []) {
          if (prune.backoff !== undefined && !(Number(prune.backoff) <= MAX_BACKOFF_S))
            prune.backoff = MAX_BACKOFF_S
        }
        if (!guard.rpc(peer, weigh(rpc))) continue
        // A failure here is this node's fault, not the peer's; gossipsub itself only logs it.
        inner.handleReceivedRpc(peerId, rpc).catch(() => {})
      }
    } catch (error) {
      // When an old connection closes, streams that have moved to a newer one must survive.
      if (inner.streamsInbound.get(peer)?.source === source)
        inner.handlePeerReadStreamError(error as Error, peerId)
      // A lost connection also ends the stream with an error, but that is nobody's fault.
      if (/^Invalid(Message|Data)Length/.test((error as Error).name)) guard.oversize(peer)
    }
  }
}

function weigh({ subscriptions, messages, control }: Rpc): RpcWeight {
  let entries = subscriptions.length
  if (control) {
    entries += control.graft.length + control.prune.length
    for (const { messageIDs } of [...control.ihave, ...control.iwant, ...control.idontwant])
      entries += 1 + messageIDs.length
  }
  return { messages: messages.length, control: entries }
}

/** The state of gossip with a peer; undefined if gossipsub does not know it. */
export function gossipLink(
  pubsub: GossipSub,
  peer: string,
): { inbound: boolean; outbound: boolean; waitingBytes: number; score: number } | undefined {
  const inner = pubsub as unknown as Internals
  if (!inner.peers.has(peer)) return undefined
  const out = inner.streamsOutbound.get(peer)
  return {
    inbound: inner.streamsInbound.has(peer),
    outbound: out !== undefined,
    waitingBytes: out?.rawStream.writeBufferLength ?? 0,
    score: inner.getScore(peer),
  }
}

/** Makes gossipsub open its streams on this connection; by itself, it does so only on a peer's first connection. */
export function reopenGossip(pubsub: GossipSub, peer: PeerId, connection: Connection): void {
  ;(pubsub as unknown as Internals).onPeerConnected(peer, connection)
}

/**
 * Lets gossipsub accept a message again. Otherwise it drops further copies of an ignored message for two minutes,
 * whoever sends them. Used for messages that were refused because of their sender.
 */
export function forgetMessage(pubsub: GossipSub, topic: string, data: Uint8Array): void {
  const inner = pubsub as unknown as Internals
  // gossipsub does not sign the messages, so the ID depends only on topic and data.
  inner.seenCache.entries.delete(inner.msgIdToStrFn(inner.msgIdFn({ type: 'unsigned', topic, data })))
}

export function meshPeers(pubsub: GossipSub, topic: string): ReadonlySet<string> {
  return (pubsub as unknown as Internals).mesh.get(topic) ?? new Set()
}
