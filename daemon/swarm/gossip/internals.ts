// The only file that uses gossipsub 17.1.1's internals: its streams, for the watchdog, and the places where data comes in and
// goes out, so that incoming data can be weighed before it is decoded. test/swarm/links/links.test.ts fails if an upgrade moves them.

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
  /** Everything goes through here. */
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
  /** Control entries and the ids in them, subscriptions included. */
  control: number
}

/** What is asked about traffic before it is dealt with. None may throw. */
export interface GossipGuard {
  /** A whole RPC has arrived; false drops it undecoded. */
  frame(peer: string, bytes: number): boolean
  /** It has been decoded; false drops it. */
  rpc(peer: string, weight: RpcWeight): boolean
  /** It could not be decoded. */
  malformed(peer: string): void
  /** It announced a length that nobody may send. gossipsub stays deaf to the peer from here, while the connection lives. */
  oversize(peer: string): void
  /** So many bytes are on their way to it. */
  sent(peer: string, bytes: number): void
  /** So many RPCs of it were dealt with that others should have a turn before the next; the rest waits. */
  busy(peer: string): void
}

/** RPCs of one peer before others get a turn. A new group costs up to a millisecond, the peers that it is passed on to included. */
const TURN = 16

/** PRUNE backoff is an unsigned 64-bit number of seconds of the peer's choice (Lighthouse #8955). */
const MAX_BACKOFF_S = 3600

/** Puts the guard in front of everything that gossipsub does with a peer's bytes. Call before it starts. */
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
        // A failure in there is ours, not the peer’s; gossipsub itself only logs it.
        inner.handleReceivedRpc(peerId, rpc).catch(() => {})
      }
    } catch (error) {
      // An old connection that ends must not take down what has moved to a newer one.
      if (inner.streamsInbound.get(peer)?.source === source)
        inner.handlePeerReadStreamError(error as Error, peerId)
      // A stream also ends in an error when a connection is lost, and that is nobody's fault.
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

/** How gossip with a peer stands; undefined where gossipsub does not know it. */
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

/** Makes gossipsub open its streams on this connection: by itself it does so only when a peer connects for the first time. */
export function reopenGossip(pubsub: GossipSub, peer: PeerId, connection: Connection): void {
  ;(pubsub as unknown as Internals).onPeerConnected(peer, connection)
}

/**
 * Lets a message come again: what a validator ignored is otherwise not looked at for two minutes, whoever else has it. For what
 * was refused because of who brought it.
 */
export function forgetMessage(pubsub: GossipSub, message: Message): void {
  const inner = pubsub as unknown as Internals
  inner.seenCache.entries.delete(inner.msgIdToStrFn(inner.msgIdFn(message)))
}

export function meshPeers(pubsub: GossipSub, topic: string): ReadonlySet<string> {
  return (pubsub as unknown as Internals).mesh.get(topic) ?? new Set()
}
