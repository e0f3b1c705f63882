// Who came first, of those that nothing is known of: identities are free, so of strangers so many have a seat, and keep it while they
// go on sending. A crowd that comes later cannot take it from them.

import type { Clock } from './types.ts'

export interface SeatsOptions {
  count: number
  /** A seat is free when whoever has it has sent nothing for so long. */
  idleMs: number
}

export class Seats {
  private readonly options: SeatsOptions
  private readonly clock: Clock
  /** When each last sent something; who sent longest ago first. */
  private readonly taken = new Map<string, number>()

  constructor(options: SeatsOptions, { clock }: { clock: Clock }) {
    this.options = options
    this.clock = clock
  }

  /** True if it has a seat, or gets one now. */
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
