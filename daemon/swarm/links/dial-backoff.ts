// Dial back-off: stops this node from redialling a peer that keeps refusing it. A refused dial succeeds at first; the
// other side closes the connection just after the handshake. redial.ts, the DHT and the relay search would each redial
// at once, so the connection gate asks here before every dial.

import type { Connection } from '@libp2p/interface'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock } from '../types.ts'

/** A connection that closes sooner than this counts as refused. */
const YOUNG_MS = 2000
/** Back-off after the first refusal; it doubles with each further one, up to the maximum. */
const WAIT_MS = { first: 2000, most: 60_000 }
/** Back-offs vary by up to this share, so that several nodes do not dial at the same moment. */
const JITTER = 0.25
const MAX_PEERS = 256

interface DialBackoffParts {
  libp2p(): Pick<SwarmNode, 'addEventListener' | 'removeEventListener' | 'getConnections'>
  clock: Clock
  /** Uniform in [0, 1). */
  random(): number
}

export class DialBackoff {
  private readonly parts: DialBackoffParts
  /** By peer ID: refusals in a row, and when to dial again. Oldest refusal first. */
  private readonly refusals = new Map<string, { times: number; until: number }>()
  private readonly onClose = ({ detail }: CustomEvent<Connection>) => this.closed(detail)

  constructor(_options: object, parts: DialBackoffParts) {
    this.parts = parts
  }

  start(): void {
    this.parts.libp2p().addEventListener('connection:close', this.onClose)
  }

  stop(): void {
    this.parts.libp2p().removeEventListener('connection:close', this.onClose)
  }

  /** True while the peer must not be dialled. */
  isWaiting(peer: string): boolean {
    return (this.refusals.get(peer)?.until ?? 0) > this.parts.clock.now()
  }

  /** The user asks for a connection now, so every peer may be dialled again. */
  reset(): void {
    this.refusals.clear()
  }

  private closed({ remotePeer, direction, timeline }: Connection): void {
    const id = remotePeer.toString()
    if ((timeline.close ?? timeline.open) - timeline.open >= YOUNG_MS) {
      this.refusals.delete(id)
      return
    }
    // When both sides dial, one of the two connections is closed at once. That is not a refusal.
    const isConnected = this.parts
      .libp2p()
      .getConnections(remotePeer)
      .some(({ status }) => status === 'open')
    if (direction === 'outbound' && !isConnected) this.refused(id)
  }

  private refused(id: string): void {
    const { clock, random } = this.parts
    const times = (this.refusals.get(id)?.times ?? 0) + 1
    const wait = Math.min(WAIT_MS.first * 2 ** (times - 1), WAIT_MS.most) * (1 + JITTER * (2 * random() - 1))
    this.refusals.delete(id)
    if (this.refusals.size >= MAX_PEERS) this.refusals.delete(this.refusals.keys().next().value!)
    this.refusals.set(id, { times, until: clock.now() + wait })
  }
}
