// Paces data to an average rate. After an idle time, one second's worth may be sent at once.

const BURST_MS = 1000

export class Pace {
  /** Time in ms from which more may be sent. */
  private freeAt = Number.NEGATIVE_INFINITY
  /** Time of the last call. */
  private at = Number.NEGATIVE_INFINITY

  /** Counts bytes that were sent or received. A rate of 0 means no limit. */
  spend(bytes: number, perSecond: number, now: number): void {
    this.follow(now)
    if (perSecond === 0) {
      this.freeAt = Number.NEGATIVE_INFINITY
      return
    }
    this.freeAt = Math.max(this.freeAt, now - BURST_MS) + (1000 * bytes) / perSecond
  }

  /** Milliseconds until more may be sent. */
  waitMs(perSecond: number, now: number): number {
    this.follow(now)
    return perSecond === 0 ? 0 : Math.max(0, this.freeAt - now)
  }

  /** If the clock is set back, the wait stays as long as it was. */
  private follow(now: number): void {
    if (now < this.at) this.freeAt -= this.at - now
    this.at = now
  }
}
