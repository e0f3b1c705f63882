// Divides a total rate among sources. Each active source gets a share in proportion to its weight; unused shares are
// available to all. So a crowd of new identities can use up the spare capacity and make everybody's share smaller, but
// it cannot take the share of a quieter or better-known peer.

import type { Clock } from '../types.ts'

interface FairShareOptions {
  /** Total rate of all sources. */
  perSecond: number
  /** How many seconds of its share a source may save up. */
  burstSeconds: number
  /** Burst of the spare capacity. */
  spare: number
  /** Maximum number of sources remembered; beyond that, the least recently active one is evicted. */
  keys?: number
}

interface Part {
  level: number
  weight: number
  at: number
}

/** A source that is quiet for this long loses its share until it asks again. */
const ACTIVE_MS = 10_000
const SWEEP_MS = 1000
const MAX_DEBT_S = 10

export class FairShare {
  private readonly options: Required<FairShareOptions>
  private readonly clock: Clock
  /** Least recently active first. */
  private readonly parts = new Map<string, Part>()
  private weights = 0
  private readonly whole: { level: number; at: number }
  private sweptAt = 0

  constructor(options: FairShareOptions, { clock }: { clock: Clock }) {
    this.options = { keys: 1024, ...options }
    this.clock = clock
    this.whole = { level: options.spare, at: clock.now() }
  }

  /** Takes one from the source's share, or else from the spare capacity. False if both are used up. */
  take(key: string, weight = 1): boolean {
    const part = this.part(key, weight)
    const whole = this.refilled()
    if (part.level >= 1) part.level--
    else if (whole.level < this.options.spare / 2) return false
    // The shares add up to the total rate, so only saved-up shares take this below half.
    whole.level = Math.max(-this.options.spare, whole.level - 1)
    return true
  }

  /** Charges `cost`, even into debt. Returns the ms until the debt is paid off; 0 if there is none. */
  owe(key: string, cost: number): number {
    const part = this.part(key, 1)
    part.level = Math.max(part.level - cost, -MAX_DEBT_S * this.rate(part))
    return part.level >= 0 ? 0 : (-part.level / this.rate(part)) * 1000
  }

  private part(key: string, weight: number): Part {
    const now = this.clock.now()
    this.sweep(now)
    let part = this.parts.get(key)
    if (part === undefined) {
      if (this.parts.size >= this.options.keys) this.forget(this.parts.keys().next().value!)
      part = { level: 0, weight, at: now }
      this.weights += weight
      part.level = this.cap(part)
    } else {
      this.parts.delete(key)
      this.weights += weight - part.weight
      part.weight = weight
      // If the clock is set back, nothing may be drained.
      const seconds = Math.max(0, now - part.at) / 1000
      part.level = Math.min(this.cap(part), part.level + seconds * this.rate(part))
      part.at = now
    }
    this.parts.set(key, part)
    return part
  }

  private rate({ weight }: Part): number {
    return (this.options.perSecond * weight) / this.weights
  }

  private cap(part: Part): number {
    return Math.max(1, this.rate(part) * this.options.burstSeconds)
  }

  private refilled(): { level: number } {
    const now = this.clock.now()
    const { whole, options } = this
    whole.level = Math.min(
      options.spare,
      whole.level + (Math.max(0, now - whole.at) / 1000) * options.perSecond,
    )
    whole.at = now
    return whole
  }

  private sweep(now: number): void {
    if (Math.abs(now - this.sweptAt) < SWEEP_MS) return
    this.sweptAt = now
    for (const [key, part] of this.parts) {
      // A source in debt is kept until the debt is paid off.
      if (now - part.at < ACTIVE_MS - Math.min(0, part.level / this.rate(part)) * 1000) continue
      this.forget(key)
    }
  }

  private forget(key: string): void {
    this.weights -= this.parts.get(key)?.weight ?? 0
    this.parts.delete(key)
  }
}
