// Pauses reading from a peer. Only this makes a flood cheap: bytes that have been read must be decrypted and parsed, whatever
// becomes of them. While reading is paused, the data fills the sender's own buffers.

import type { Connection } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import type { Clock } from '../types.ts'
import type { Host } from './host.ts'

/** What libp2p 3 keeps under a connection: the socket's stream. test/swarm/admission/fair-share.test.ts fails when that changes. */
interface Inner {
  maConn?: { status: string; pause?(): void; resume?(): void }
}

/** Longer, and it would look as if this node were gone. */
const MAX_MS = 8000

export class Brake {
  private readonly by: { host: Host; clock: Clock }
  private readonly until = new Map<string, number>()

  constructor(_options: object, parts: { host: Host; clock: Clock }) {
    this.by = parts
  }

  /** From now on for so many ms; a second call while it is on prolongs it at most. */
  slow(peer: string, ms: number): void {
    const end = this.by.clock.now() + Math.min(ms, MAX_MS)
    const before = this.until.get(peer)
    if (before !== undefined) {
      this.until.set(peer, Math.max(before, end))
      return
    }
    this.until.set(peer, end)
    const paused = [...this.by.host.getConnections(peerIdFromString(peer))].filter((one) =>
      attempt(one, 'pause'),
    )
    this.release(peer, paused)
  }

  private release(peer: string, paused: Connection[]): void {
    const { clock } = this.by
    const left = (this.until.get(peer) ?? 0) - clock.now()
    clock.after(Math.max(1, left), () => {
      if ((this.until.get(peer) ?? 0) > clock.now()) return this.release(peer, paused)
      this.until.delete(peer)
      for (const connection of paused) attempt(connection, 'resume')
    })
  }
}

function attempt(connection: Connection, what: 'pause' | 'resume'): boolean {
  const { maConn } = connection as unknown as Inner
  try {
    if (maConn?.status !== 'open' || typeof maConn[what] !== 'function') return false
    maConn[what]()
    return true
  } catch {
    // It closed in this very moment.
    return false
  }
}
