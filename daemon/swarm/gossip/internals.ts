// The only file that uses gossipsub 17.1.1's internals: its streams, for the link checks, and the places where data
// comes in and goes out, so that incoming data is checked before it is decoded. test/swarm/links/links.test.ts fails
// if an upgrade changes them.

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

export interface RpcWeight {
  messages: number
  /** Control entries and the message IDs in them, including subscriptions. */
  control: number
}

/** Called for gossip traffic before gossipsub processes it. None may throw. */
export interface GossipGuard {
  /** A whole RPC has arrived; false drops it undecoded. */
  frame(peer: string, bytes: number): boolean
  /** It has been decoded; false drops it. */
  rpc(peer: string, weight: RpcWeight): boolean
  /** It could not be decoded. */
  malformed(peer: string): void
  /**
   * It announced an RPC longer than allowed. gossipsub ignores the peer from here on, for as long as the connection
   * lives.
   */
  oversize(peer: string): void
  /** This many bytes are about to be sent to it. */
  sent(peer: string, bytes: number): void
  /** So many of its RPCs were processed that others should have a turn first; the rest waits. */
  busy(peer: string): void
}

/** RPCs of one peer before others get a turn. A new group costs up to a millisecond, including passing it on. */
const TURN = 16

/** PRUNE back-off is an unsigned 64-bit number of seconds that the peer chooses (Lighthouse #8955). */
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
        // A failure here is ours, not the peer's; gossipsub itself only logs it.
        inner.handleReceivedRpc(peerId, rpc).catch(() => {})
      }
    } catch (error) {
      // When an old connection ends, streams that have moved to a newer one must survive.
      if (inner.streamsInbound.get(peer)?.source === source)
        inner.handlePeerReadStreamError(error as Error, peerId)
      // Losing a connection also ends a stream with an error, and that is nobody's fault.
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

/** The state of gossip with a peer; undefined if gossipsub does not know the peer. */
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

/** Makes gossipsub open its streams on this connection; by itself it does so only on a peer's first connection. */
export function reopenGossip(pubsub: GossipSub, peer: PeerId, connection: Connection): void {
  ;(pubsub as unknown as Internals).onPeerConnected(peer, connection)
}

/**
 * Lets gossipsub accept a message again. It otherwise drops further copies of an ignored message for two minutes,
 * whoever sends them. Used for messages that were refused because of their sender.
 */
export function forgetMessage(pubsub: GossipSub, topic: string, data: Uint8Array): void {
  const inner = pubsub as unknown as Internals
  // Messages are not signed by gossipsub, so their id depends on nothing else.
  inner.seenCache.entries.delete(inner.msgIdToStrFn(inner.msgIdFn({ type: 'unsigned', topic, data })))
}

export function meshPeers(pubsub: GossipSub, topic: string): ReadonlySet<string> {
  return (pubsub as unknown as Internals).mesh.get(topic) ?? new Set()
}
