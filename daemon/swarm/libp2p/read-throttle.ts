// Pauses reading from a peer. This is the only way to make a flood cheap: bytes that have been read must be decrypted
// and parsed, even if they are then dropped. While reading is paused, the data fills the sender's own buffers.

import type { Connection } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import type { Clock } from '../types.ts'
import type { SwarmNode } from './swarm-node.ts'

/** The socket stream under a libp2p 3 connection; test/swarm/admission/fair-share.test.ts fails if that changes. */
interface Inner {
  maConn?: { status: string; pause?(): void; resume?(): void }
}

/** During a longer pause, peers would take this node for dead. */
const MAX_MS = 8000

export class ReadThrottle {
  private readonly parts: { libp2p: SwarmNode; clock: Clock }
  private readonly until = new Map<string, number>()

  constructor(_options: object, parts: { libp2p: SwarmNode; clock: Clock }) {
    this.parts = parts
  }

  /** Pauses for `ms` from now. Another call can only extend the pause. */
  slow(peer: string, ms: number): void {
    const isPaused = this.until.has(peer)
    this.until.set(peer, this.parts.clock.now() + Math.max(this.left(peer), Math.min(ms, MAX_MS)))
    if (isPaused) return
    const paused = [...this.parts.libp2p.getConnections(peerIdFromString(peer))].filter((one) =>
      attempt(one, 'pause'),
    )
    this.release(peer, paused)
  }

  private release(peer: string, paused: Connection[]): void {
    this.parts.clock.after(Math.max(1, this.left(peer)), () => {
      if (this.left(peer) > 0) return this.release(peer, paused)
      this.until.delete(peer)
      for (const connection of paused) attempt(connection, 'resume')
    })
  }

  /** Milliseconds left of the pause. If the clock was set back by more than any pause, it is over. */
  private left(peer: string): number {
    const left = (this.until.get(peer) ?? 0) - this.parts.clock.now()
    return left > MAX_MS ? 0 : Math.max(0, left)
  }
}

function attempt(connection: Connection, what: 'pause' | 'resume'): boolean {
  const { maConn } = connection as unknown as Inner
  try {
    if (maConn?.status !== 'open' || typeof maConn[what] !== 'function') return false
    maConn[what]()
    return true
  } catch {
    // The connection has just closed.
    return false
  }
}
