// Repairs connections on which gossip has stopped. There are two cases. After a power cut, a peer returns on a new
// connection while gossip still uses the dead one. And gossipsub never reopens a stream that was aborted while its
// connection lives.

import type { Connection, PeerId } from '@libp2p/interface'
import { gossipLink, reopenGossip } from '../gossip/internals.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'
import { ping } from './probe.ts'

const CHECK_MS = 1000
/**
 * Failed checks in a row before a link is repaired: on a machine that trains, opening streams can take seconds. Checks
 * do not count while this process is starved of CPU time.
 */
const STRIKES = 10
/** When the newer connection has answered, the older one gets this much longer to answer, in ms. */
const GRACE_MS = { least: 500, most: 4000 }
/** No node keeps a second connection for longer than this. */
const TWIN_MS = 20_000
/** Maximum bytes queued for a peer that does not read. libp2p aborts the stream at 16 MiB; this acts earlier. */
const SLOW_BYTES = 8 << 20

interface LinksParts {
  libp2p: SwarmNode
  clock: Clock
  log: Log
  /** This process gets too little CPU time. */
  isStarved(): boolean
  /** Two connected nodes have the same identity: somebody copied a home. */
  onTwin(peer: string): void
  /** Gossip with the peer works again, but may have missed messages. */
  onMended(peer: string): void
}

export class Links {
  private readonly parts: LinksParts
  private readonly strikes = new Map<string, number>()
  private cancel: (() => void) | undefined

  constructor(_options: object, parts: LinksParts) {
    this.parts = parts
    this.onOpen = this.onOpen.bind(this)
  }

  start(): void {
    this.parts.libp2p.addEventListener('connection:open', this.onOpen)
    this.loop()
  }

  stop(): void {
    this.cancel?.()
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
  }

  /** A peer that dials again has probably lost its old connection, which this node may not have noticed. */
  private onOpen({ detail: connection }: CustomEvent<Connection>): void {
    if (connection.direction !== 'inbound') return
    for (const old of this.parts.libp2p.getConnections(connection.remotePeer)) {
      if (old === connection || old.direction !== 'inbound') continue
      if (old.timeline.open <= connection.timeline.open) void this.supersede(old, connection)
    }
  }

  /**
   * Closes the old connection if the new one answers a ping and the old one does not. A new connection alone proves
   * nothing: AutoNAT dials a second time to test reachability, and a busy peer answers on neither.
   */
  private async supersede(old: Connection, fresh: Connection): Promise<void> {
    let alive = false
    const stays = ping(old, this.parts.clock).then(
      () => {
        alive = true
      },
      () => {},
    )
    const asked = this.parts.clock.now()
    try {
      await ping(fresh, this.parts.clock)
    } catch {
      return
    }
    // If the peer trains, it answers slowly on either connection.
    const took = this.parts.clock.now() - asked
    const grace = Math.min(Math.max(GRACE_MS.least, 4 * took), GRACE_MS.most)
    await Promise.race([stays, new Promise<void>((resolve) => this.parts.clock.after(grace, resolve))])
    if (alive) return this.watchTwin(old, fresh)
    if (fresh.status !== 'open') return
    old.abort(new Error('superseded by a newer connection'))
    this.parts.onMended(old.remotePeer.toString())
  }

  /** AutoNAT and probes soon close their second connection, so two connections that last belong to two nodes. */
  private watchTwin(one: Connection, other: Connection): void {
    if (one.limits !== undefined || other.limits !== undefined) return
    this.parts.clock.after(TWIN_MS, () => {
      if (one.status === 'open' && other.status === 'open') this.parts.onTwin(one.remotePeer.toString())
    })
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(CHECK_MS, () => {
      const peers = this.parts.libp2p.getPeers()
      const present = new Set(peers.map(String))
      for (const id of this.strikes.keys()) if (!present.has(id)) this.strikes.delete(id)
      for (const peer of peers) void this.check(peer)
      this.loop()
    })
  }

  private async check(peer: PeerId): Promise<void> {
    const { libp2p, log, isStarved } = this.parts
    const { pubsub } = libp2p.services
    const id = peer.toString()
    const link = gossipLink(pubsub, id)
    const slow = link !== undefined && link.waitingBytes > SLOW_BYTES
    const whole = link?.inbound && link.outbound && !slow
    if (whole || !(await this.speaksGossip(peer))) {
      if (this.strikes.delete(id) && whole) this.parts.onMended(id)
      return
    }
    const strikes = (this.strikes.get(id) ?? 0) + (isStarved() ? 0 : 1)
    this.strikes.set(id, strikes)
    const connections = [...libp2p.getConnections(peer)]
    if (strikes < STRIKES) {
      // Its stream may have died with an older connection without gossipsub noticing the new one.
      const usable = connections.findLast((one) => one.status === 'open' && one.limits === undefined)
      if (usable && !link?.outbound) reopenGossip(pubsub, peer, usable)
      return
    }
    this.strikes.delete(id)
    log(
      'debug',
      slow ? 'closed the connection to a peer that does not read' : 'closed a connection without gossip',
      {
        peer: id,
        ...link,
      },
    )
    for (const connection of connections) connection.abort(new Error('gossip is stuck'))
  }

  /** False for a plain relay, for a relayed connection, and until the peer has been identified. */
  private async speaksGossip(peer: PeerId): Promise<boolean> {
    const { libp2p } = this.parts
    if (!libp2p.getConnections(peer).some((connection) => connection.limits === undefined)) return false
    const record = await libp2p.peerStore.get(peer).catch(() => undefined)
    return record?.protocols.some((protocol) => protocol.startsWith('/meshsub/')) ?? false
  }
}
