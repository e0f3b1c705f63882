// Tells the user when peers are connected and none of them brings a group. They may pause, be relays, or be a crowd that
// surrounds this node and keeps others' groups from it. Which of these it is cannot be seen from here; training alone goes on.
// A crowd that passes on some groups is not noticed.

import type { Clock } from '../types.ts'

const CHECK_MS = 5000
/** Also in a large swarm. It is told within a minute. */
const LEAST_MS = 50_000
/** Of all peers together: a node with one peer waits for ten minutes. A slow node writes a group in one or two. */
const PEERS_MS = 600_000

export interface SilenceParts {
  clock: Clock
  /** Connected peers that take part in the swarm's gossip. */
  peers(): number
  /** Groups verified so far. */
  verified(): number
  onSilent(peers: number, silentMs: number): void
  onHeard(): void
}

export class Silence {
  private readonly by: SilenceParts
  private cancel: (() => void) | undefined
  private verified = 0
  /** Counted in checks, so that a machine that slept has missed nothing. */
  private silentMs = 0
  private peersMs = 0

  constructor(_options: object, parts: SilenceParts) {
    this.by = parts
  }

  start(): void {
    this.cancel = this.by.clock.after(CHECK_MS, () => {
      this.check()
      this.start()
    })
  }

  stop(): void {
    this.cancel?.()
  }

  private check(): void {
    const { peers, verified, onSilent, onHeard } = this.by
    const [connected, count] = [peers(), verified()]
    if (count > this.verified || connected === 0) {
      this.verified = count
      this.silentMs = 0
      this.peersMs = 0
      onHeard()
      return
    }
    this.silentMs += CHECK_MS
    this.peersMs += connected * CHECK_MS
    if (this.silentMs >= LEAST_MS && this.peersMs >= PEERS_MS) onSilent(connected, this.silentMs)
  }
}
