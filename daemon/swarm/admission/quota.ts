// Token buckets, one per key, in bounded memory. A bucket holds at most `burst` and gains `perSecond`. If there are too many
// keys, the least recently used is forgotten and starts full again; so where keys cost nothing to create, a limit on the
// total must stand beside this one. A restart forgets all of them; after a crash, `resume` keeps that from being a refill.

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
  /** When buckets that are not known may have been empty. */
  private emptyAt = Number.NEGATIVE_INFINITY

  constructor({ rate, keys = 1024 }: { rate: Rate; keys?: number }, { clock }: { clock: Clock }) {
    this.rate = rate
    this.limit = keys
    this.clock = clock
  }

  /** What was taken until this time is not known any more: every bucket counts as empty then. */
  resume(at: number): void {
    this.emptyAt = at
  }

  /** Takes `cost` from the key's bucket. Returns false, and takes nothing, if it holds less. */
  take(key: string, cost = 1): boolean {
    const now = this.clock.now()
    const bucket = this.buckets.get(key) ?? { level: 0, at: this.emptyAt }
    if (!this.buckets.delete(key) && this.buckets.size >= this.limit)
      this.buckets.delete(this.buckets.keys().next().value!)
    // A clock that is set back must neither drain nor fill a bucket.
    const seconds = Math.max(0, now - bucket.at) / 1000
    bucket.level = Math.min(this.rate.burst, bucket.level + seconds * this.rate.perSecond)
    bucket.at = now
    this.buckets.set(key, bucket)
    if (bucket.level < cost) return false
    bucket.level -= cost
    return true
  }
}

/** Two rates: `over` the soft one; above the hard one it is a `flood`, which no busy or catching-up peer reaches. */
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
