// Token buckets, one per key, in bounded memory. A bucket holds at most `burst` and gains `perSecond`. With too many
// keys, the least recently used one is evicted and starts full again, so where keys are free, a limit on the total is
// needed as well. A restart loses all buckets; `resume` keeps a crash from refilling them.

import type { Clock } from '../types.ts'

export interface Rate {
  perSecond: number
  burst: number
}

interface Bucket {
  level: number
  at: number
}

export class Quota {
  private readonly rate: Rate
  private readonly limit: number
  private readonly clock: Clock
  private readonly buckets = new Map<string, Bucket>()
  /** When a new bucket counts as empty; by default it starts full. */
  private emptyAt = Number.NEGATIVE_INFINITY

  constructor({ rate, keys = 1024 }: { rate: Rate; keys?: number }, { clock }: { clock: Clock }) {
    this.rate = rate
    this.limit = keys
    this.clock = clock
  }

  /** What was taken before `at` is unknown, so every bucket counts as empty at that time. */
  resume(at: number): void {
    this.emptyAt = at
  }

  /** Takes `cost` from the key's bucket. If the bucket holds less, takes nothing and returns false. */
  take(key: string, cost = 1): boolean {
    const bucket = this.filled(key)
    if (!this.buckets.delete(key) && this.buckets.size >= this.limit)
      this.buckets.delete(this.buckets.keys().next().value!)
    this.buckets.set(key, bucket)
    if (bucket.level < cost) return false
    bucket.level -= cost
    return true
  }

  /** Whether the key's bucket holds that much. */
  has(key: string, cost = 1): boolean {
    return this.filled(key).level >= cost
  }

  private filled(key: string): Bucket {
    const now = this.clock.now()
    const { level, at } = this.buckets.get(key) ?? { level: 0, at: this.emptyAt }
    // If the clock is set back, the bucket must neither drain nor fill.
    const seconds = Math.max(0, now - at) / 1000
    return { level: Math.min(this.rate.burst, level + seconds * this.rate.perSecond), at: now }
  }
}

/** Two rate limits: above the soft one, `over`; above the hard one, which no honest peer reaches, `flood`. */
export class Meter {
  private readonly soft: Quota
  private readonly hard: Quota

  constructor({ soft, hard }: { soft: Rate; hard: Rate }, parts: { clock: Clock }) {
    this.soft = new Quota({ rate: soft }, parts)
    this.hard = new Quota({ rate: hard }, parts)
  }

  take(key: string, cost = 1): 'fine' | 'over' | 'flood' {
    if (!this.hard.take(key, cost)) return 'flood'
    return this.soft.take(key, cost) ? 'fine' : 'over'
  }
}
