// Gives a limited number of places to unknown peers, first come, first served. A peer keeps its place while it sends.
// Identities are free, but a crowd that arrives later cannot take the places of earlier peers.

import type { Clock } from '../types.ts'

interface NewcomerQuotaOptions {
  count: number
  /** A place is freed when its holder has sent nothing for this long. */
  idleMs: number
}

export class NewcomerQuota {
  private readonly options: NewcomerQuotaOptions
  private readonly clock: Clock
  /** When each holder last sent something, least recent first. */
  private readonly taken = new Map<string, number>()

  constructor(options: NewcomerQuotaOptions, { clock }: { clock: Clock }) {
    this.options = options
    this.clock = clock
  }

  /** True if the peer has a place or gets one now. */
  take(id: string): boolean {
    const now = this.clock.now()
    if (!this.taken.delete(id) && this.taken.size >= this.options.count) {
      const [oldest] = this.taken
      if (oldest === undefined || now - oldest[1] < this.options.idleMs) return false
      this.taken.delete(oldest[0])
    }
    this.taken.set(id, now)
    return true
  }

  leave(id: string): void {
    this.taken.delete(id)
  }
}
