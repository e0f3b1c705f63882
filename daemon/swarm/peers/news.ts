// Reports peers that come and go, to watchers and logs. Connections and identities are free but log space is not, so
// peers that keep reconnecting, or come under ever new names, are reported at a limited rate. Snapshots show the
// current peers.

import { peerName } from '../../../protocol/text.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock, SwarmEvent } from '../types.ts'

type Change = Extract<SwarmEvent, { type: 'peer' }>['change']

/** Limit per peer; connecting and leaving makes two lines. */
const EACH = { perSecond: 1 / 30, burst: 6 }
/** Limit for all strangers together. */
const STRANGERS = { perSecond: 1, burst: 128 }
const CUTS = { perSecond: 0.5, burst: 64 }

interface PeerNewsParts {
  clock: Clock
  /** True for peers that the user joined. */
  isWanted(peer: string): boolean
  onEvent(event: SwarmEvent): void
}

export class PeerNews {
  private readonly parts: PeerNewsParts
  private readonly each: Quota
  private readonly strangers: Quota
  private readonly cuts: Quota
  /** Connected peers that were reported; their disconnection is reported as well. */
  private readonly told = new Set<string>()

  constructor(_options: object, parts: PeerNewsParts) {
    this.parts = parts
    this.each = new Quota({ rate: EACH }, parts)
    this.strangers = new Quota({ rate: STRANGERS, keys: 1 }, parts)
    this.cuts = new Quota({ rate: CUTS, keys: 1 }, parts)
  }

  /** The peer was seen on the local network. */
  found(peer: string): void {
    if (this.isNews(peer)) this.tell(peer, 'found')
  }

  connected(peer: string, address?: string): void {
    if (this.told.has(peer) || !this.isNews(peer)) return
    this.told.add(peer)
    this.tell(peer, 'connected', address === undefined ? {} : { address })
  }

  disconnected(peer: string): void {
    if (this.told.delete(peer)) this.tell(peer, 'disconnected')
  }

  /** The peer was cut off. */
  cut(peer: string, reason: string): void {
    if (this.cuts.take('all')) this.tell(peer, 'muted', { reason })
  }

  private isNews(peer: string): boolean {
    return this.each.take(peer) && (this.parts.isWanted(peer) || this.strangers.take('all'))
  }

  private tell(peer: string, change: Change, more: { address?: string; reason?: string } = {}): void {
    this.parts.onEvent({ type: 'peer', peer, name: peerName(peer), change, ...more })
  }
}
