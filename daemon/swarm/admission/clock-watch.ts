// Compares this node's clock with its peers' clocks. Groups are refused by age, so a clock that is hours off stops all
// sharing, and the user would suspect the network.

import type { Clock } from '../types.ts'

/** Far less than the skew at which groups are refused; see MAX_SKEW_MS in admission.ts. */
const OFF_MS = 20 * 60_000
const REMEMBER_MS = 10 * 60_000
const AUTHORS = 64

export class ClockWatch {
  private readonly parts: { clock: Clock; onOff(message: string): void; onRight(): void }
  /** By author, newest last: time of its last message, and how far its clock is ahead of this node's. */
  private readonly seen = new Map<string, { at: number; aheadMs: number }>()

  constructor(_options: object, parts: { clock: Clock; onOff(message: string): void; onRight(): void }) {
    this.parts = parts
  }

  /** A directly connected author has just dated a message with its own clock. */
  dated(author: string, aheadMs: number): void {
    const now = this.parts.clock.now()
    this.seen.delete(author)
    this.seen.set(author, { at: now, aheadMs })
    for (const [one, { at }] of this.seen)
      if (this.seen.size > AUTHORS || Math.abs(now - at) > REMEMBER_MS) this.seen.delete(one)
    const sorted = [...this.seen.values()].map((one) => one.aheadMs).sort((a, b) => a - b)
    // With an even number, take the middle value nearer to zero.
    const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1)
    const median = middle.reduce((least, one) => (Math.abs(one) < Math.abs(least) ? one : least))
    if (Math.abs(median) <= OFF_MS) this.parts.onRight()
    else
      this.parts.onOff(
        `this node’s clock is ${durationOf(Math.abs(median))} ${median > 0 ? 'behind' : 'ahead of'} ${
          sorted.length === 1 ? 'its peer’s' : `those of its ${sorted.length} peers`
        }`,
      )
  }
}

function durationOf(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 90 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}
