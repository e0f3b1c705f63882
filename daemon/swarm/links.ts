// Keeps links alive that look alive and are not. Two traps (p2p.md 6): after a power cut a peer comes back on a new
// connection while gossip still hangs on the old one, deaf for good; and gossipsub never reopens a stream that was aborted
// while its connection lives.

import type { Connection, PeerId } from '@libp2p/interface'
import { gossipLink } from './gossip-internals.ts'
import type { Host } from './host.ts'
import type { Clock, Log } from './types.ts'

const CHECK_MS = 1000
/** Checks in a row that a link may be half there: opening streams takes a moment. */
const STRIKES = 3
/** Bytes waiting for a peer that does not read; at 16 MiB libp2p aborts the stream, which this forestalls. */
const SLOW_BYTES = 8 << 20

export interface LinksCollaborators {
  host: Host
  clock: Clock
  log: Log
}

export class Links {
  private readonly by: LinksCollaborators
  private readonly strikes = new Map<string, number>()
  private cancel: (() => void) | undefined

  constructor(_options: object, collaborators: LinksCollaborators) {
    this.by = collaborators
    this.onOpen = this.onOpen.bind(this)
  }

  start(): void {
    this.by.host.addEventListener('connection:open', this.onOpen)
    this.loop()
  }

  stop(): void {
    this.cancel?.()
    this.by.host.removeEventListener('connection:open', this.onOpen)
  }

  /** A peer that dials again has lost its old connection, whether or not we have noticed. */
  private onOpen({ detail: connection }: CustomEvent<Connection>): void {
    if (connection.direction !== 'inbound') return
    for (const old of this.by.host.getConnections(connection.remotePeer)) {
      if (old === connection || old.direction !== 'inbound') continue
      if (old.timeline.open > connection.timeline.open) continue
      old.abort(new Error('superseded by a newer connection'))
    }
  }

  private loop(): void {
    this.cancel = this.by.clock.after(CHECK_MS, () => {
      const peers = this.by.host.getPeers()
      const present = new Set(peers.map(String))
      for (const id of this.strikes.keys()) if (!present.has(id)) this.strikes.delete(id)
      for (const peer of peers) this.check(peer)
      this.loop()
    })
  }

  private check(peer: PeerId): void {
    const { host, log } = this.by
    const id = peer.toString()
    const link = gossipLink(host.services.pubsub, id)
    // Unknown to gossipsub: a peer that does not speak it, such as a plain relay.
    const slow = link !== undefined && link.waitingBytes > SLOW_BYTES
    if (link === undefined || (link.inbound && link.outbound && !slow)) {
      this.strikes.delete(id)
      return
    }
    const strikes = (this.strikes.get(id) ?? 0) + 1
    this.strikes.set(id, strikes)
    if (strikes < STRIKES) return
    this.strikes.delete(id)
    log('debug', slow ? 'hung up on a peer that does not read' : 'hung up on a deaf link', {
      peer: id,
      ...link,
    })
    for (const connection of host.getConnections(peer)) connection.abort(new Error('gossip is stuck'))
  }
}
