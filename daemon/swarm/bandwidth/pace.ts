// Spaces pieces of data so that they keep to a rate on average. After a rest, a second's worth may go at once.

const BURST_MS = 1000

export class Pace {
  /** When what has gone is within the rate, ms. */
  private freeAt = Number.NEGATIVE_INFINITY

  /** Counts bytes that have gone. A rate of 0 is no limit. */
  spend(bytes: number, perSecond: number, now: number): void {
    if (perSecond === 0) {
      this.freeAt = Number.NEGATIVE_INFINITY
      return
    }
    this.freeAt = Math.max(this.freeAt, now - BURST_MS) + (1000 * bytes) / perSecond
  }

  /** ms until more may go. */
  waitMs(perSecond: number, now: number): number {
    return perSecond === 0 ? 0 : Math.max(0, this.freeAt - now)
  }
}
