// Tells the user if peers are connected but none of them brings a group or weights. The peers may be paused, or relays, or
// a crowd of fake peers that surrounds this node and withholds others' groups; this node cannot tell which. It keeps
// training alone. A crowd that forwards some groups is not noticed.

import type { Clock } from '../types.ts'

const CHECK_MS = 5000
/** Minimum silence, even in a large swarm, where the notice comes within a minute. */
const MIN_MS = 50_000
/** Silence summed over the peers: one peer has ten minutes. A slow node needs one or two to write a group. */
const PEERS_MS = 600_000

interface SilenceParts {
  clock: Clock
  /** Connected peers that take part in the swarm's gossip. */
  peers(): number
  /** Rises with whatever peers bring. */
  heard(): number
  onSilent(peers: number, silentMs: number): void
  onHeard(): void
}

export class Silence {
  private readonly parts: SilenceParts
  private cancel: (() => void) | undefined
  private heard = 0
  /** Counted in checks, so that time asleep does not count. */
  private silentMs = 0
  private peersMs = 0

  constructor(_options: object, parts: SilenceParts) {
    this.parts = parts
  }

  start(): void {
    this.cancel = this.parts.clock.after(CHECK_MS, () => {
      this.check()
      this.start()
    })
  }

  stop(): void {
    this.cancel?.()
  }

  private check(): void {
    const { peers, heard, onSilent, onHeard } = this.parts
    const [connected, count] = [peers(), heard()]
    if (count > this.heard || connected === 0) {
      this.heard = count
      this.silentMs = 0
      this.peersMs = 0
      onHeard()
      return
    }
    this.silentMs += CHECK_MS
    this.peersMs += connected * CHECK_MS
    if (this.silentMs >= MIN_MS && this.peersMs >= PEERS_MS) onSilent(connected, this.silentMs)
  }
}
