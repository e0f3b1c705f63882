// Asks one peer after another for what came in lately, since gossip loses messages. Above all it shows a node that somebody
// else uses its identity: gossip sends nothing back to the peer that it came from, so where both hang on one peer, neither
// would get what the other wrote.

import type { Clock } from '../types.ts'

/** A list costs 32 bytes a group, about a hundredth of the group. */
const EVERY_MS = 20_000
const BACK_MS = 60_000

interface AntiEntropyParts {
  clock: Clock
  /** Connected peers that take part in the swarm. */
  peers(): readonly string[]
  /** Fetches what the peer received in the last `sinceMs` and this node did not. */
  catchUp(peer: string, sinceMs: number): Promise<unknown>
}

export class AntiEntropy {
  private readonly parts: AntiEntropyParts
  private cancel: (() => void) | undefined
  private turn = 0

  constructor(_options: object, parts: AntiEntropyParts) {
    this.parts = parts
  }

  start(): void {
    this.cancel = this.parts.clock.after(EVERY_MS, () => {
      const peers = this.parts.peers()
      const peer = peers[this.turn++ % peers.length]
      if (peer !== undefined) void this.parts.catchUp(peer, BACK_MS)
      this.start()
    })
  }

  stop(): void {
    this.cancel?.()
  }
}
