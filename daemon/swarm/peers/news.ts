// Tells watchers and logs of peers that come and go. Connections and identities are free, and a log is not: who keeps
// reconnecting, or comes under ever new names, is told of at a bounded rate. Snapshots show who is there now.

import { peerName } from '../../../protocol/text.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock, SwarmEvent } from '../types.ts'

type Change = Extract<SwarmEvent, { type: 'peer' }>['change']

/** A peer that connects and leaves makes two lines. */
const EACH = { perSecond: 1 / 30, burst: 6 }
/** Of all strangers. */
const STRANGERS = { perSecond: 1, burst: 128 }
const CUTS = { perSecond: 0.5, burst: 64 }

export interface PeerNewsParts {
  clock: Clock
  /** True for peers that a person joined. */
  isWanted(peer: string): boolean
  onEvent(event: SwarmEvent): void
}

export class PeerNews {
  private readonly by: PeerNewsParts
  private readonly each: Quota
  private readonly strangers: Quota
  private readonly cuts: Quota
  /** Connected peers that were told of: that they leave is told as well. */
  private readonly told = new Set<string>()

  constructor(_options: object, by: PeerNewsParts) {
    this.by = by
    this.each = new Quota({ rate: EACH }, by)
    this.strangers = new Quota({ rate: STRANGERS, keys: 1 }, by)
    this.cuts = new Quota({ rate: CUTS, keys: 1 }, by)
  }

  /** On the local network. */
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

  /** For what it did. */
  cut(peer: string, reason: string): void {
    if (this.cuts.take('all')) this.tell(peer, 'muted', { reason })
  }

  private isNews(peer: string): boolean {
    return this.each.take(peer) && (this.by.isWanted(peer) || this.strangers.take('all'))
  }

  private tell(peer: string, change: Change, more: { address?: string; reason?: string } = {}): void {
    this.by.onEvent({ type: 'peer', peer, name: peerName(peer), change, ...more })
  }
}
