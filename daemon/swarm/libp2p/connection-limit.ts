// Decides which connection to close when there are too many. Identities are free, so a crowd of unknown peers must not
// keep others out. Joined peers always stay. Peers that sent good groups take precedence over unknown ones, for which
// an eighth of the places is reserved. Unknown peers that have not greeted are closed first. Within a class, the
// address range with the most connections loses one.

import type { Connection } from '@libp2p/interface'
import { addressRange, firstOfLargest } from '../addresses/address-range.ts'
import { Quota } from '../admission/quota.ts'
import type { Clock } from '../types.ts'
import type { SwarmNode } from './swarm-node.ts'

interface ConnectionLimitOptions {
  /** Maximum connections, inbound and outbound. */
  limit: number
}

interface ConnectionLimitParts {
  libp2p: SwarmNode
  clock: Clock
  isWanted(peer: string): boolean
  /** The peer has sent good groups. */
  isUseful(peer: string): boolean
}

/** New connections per range. Each takes a few milliseconds before this node knows whether the peer is useful. */
const NEW_PER_RANGE = { perSecond: 50, burst: 100 }

export class ConnectionLimit {
  private readonly limit: number
  private readonly parts: ConnectionLimitParts
  /** Connected peers that have greeted and have the same rules. */
  private readonly greeted = new Set<string>()
  private readonly arrivals: Quota
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => this.makeRoom(detail)
  private readonly onDisconnect = ({ detail }: CustomEvent<{ toString(): string }>) => {
    this.greeted.delete(detail.toString())
  }

  constructor({ limit }: ConnectionLimitOptions, parts: ConnectionLimitParts) {
    this.limit = limit
    this.parts = parts
    this.arrivals = new Quota({ rate: NEW_PER_RANGE }, parts)
  }

  start(): void {
    this.parts.libp2p.addEventListener('connection:open', this.onOpen)
    this.parts.libp2p.addEventListener('peer:disconnect', this.onDisconnect)
  }

  stop(): void {
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
    this.parts.libp2p.removeEventListener('peer:disconnect', this.onDisconnect)
  }

  hasGreeted(peer: string): void {
    this.greeted.add(peer)
  }

  /** Whether to keep a peer that has just proved its identity. */
  admits(peer: string, { remoteAddr }: Pick<Connection, 'remoteAddr'>): boolean {
    const { isWanted, isUseful } = this.parts
    return isWanted(peer) || isUseful(peer) || this.arrivals.take(addressRange(remoteAddr))
  }

  private makeRoom(fresh: Connection): void {
    const open = this.parts.libp2p.getConnections().filter(({ status }) => status === 'open')
    // libp2p adds the new one to its list only later.
    const all = open.includes(fresh) ? open : [...open, fresh]
    all.sort((a, b) => a.timeline.open - b.timeline.open)
    for (let surplus = all.length - this.limit; surplus > 0; surplus--) {
      const out = this.leastUseful(all, fresh)
      if (out === undefined) return
      all.splice(all.indexOf(out), 1)
      out.abort(new Error('too many connections'))
    }
  }

  private leastUseful(all: readonly Connection[], fresh: Connection): Connection | undefined {
    const { isWanted, isUseful } = this.parts
    const idOf = ({ remotePeer }: Connection) => remotePeer.toString()
    const others = all.filter((one) => !isWanted(idOf(one)))
    const strangers = others.filter((one) => one.direction === 'inbound' && !isUseful(idOf(one)))
    // A peer that has just connected has not had time to greet.
    const silent = strangers.filter((one) => one !== fresh && !this.greeted.has(idOf(one)))
    const part = Math.max(2, Math.floor(this.limit / 8))
    const from =
      silent.length > 0
        ? silent
        : strangers.length > part || strangers.length === others.length
          ? strangers
          : others.filter((one) => !strangers.includes(one))
    return firstOfLargest(from, ({ remoteAddr }) => addressRange(remoteAddr))
  }
}
