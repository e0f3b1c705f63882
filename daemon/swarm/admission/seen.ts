// Remembers IDs in bounded memory: recent ones exactly (SeenSet, which can be saved and restored), older ones in Bloom
// filters for as long as they matter (LongMemory).

import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../types.ts'

/** A set that forgets its older half when it is full. */
export class SeenSet {
  private readonly half: number
  private young = new Set<string>()
  private old = new Set<string>()

  constructor({ capacity }: { capacity: number }) {
    this.half = Math.max(1, capacity >> 1)
  }

  has(id: string): boolean {
    return this.young.has(id) || this.old.has(id)
  }

  add(id: string): void {
    if (this.young.size >= this.half) {
      this.old = this.young
      this.young = new Set()
    }
    this.young.add(id)
  }

  /** Oldest first. To restore, `add` them in this order. */
  entries(): string[] {
    return [...this.old, ...this.young]
  }
}

/** Bits and probes per entry. A full filter has 6 false positives in a million. */
const FILTER = { bits: 32, probes: 8 }
/** IDs per filter, which takes 256 KiB. */
const FILTER_ENTRIES = 65_536
/** 16 MiB in all. At 300 IDs a second, more than admission allows, they last three and a half hours. */
const MAX_FILTERS = 64

/**
 * Remembers each ID for at least `forMs`, however many others arrive. Bloom filters of a fixed size are filled one
 * after another; a filter is dropped when its newest ID is older than `forMs`. The hash is salted, so nobody can choose
 * colliding IDs.
 */
export class LongMemory {
  private readonly forMs: number
  private readonly clock: Clock
  private readonly salt: Uint8Array
  private readonly entries: number
  /** Oldest first. */
  private readonly filters: Array<{ bits: Uint32Array; count: number; newest: number }> = []

  constructor(
    { forMs, entries = FILTER_ENTRIES }: { forMs: number; entries?: number | undefined },
    { clock, salt = randomBytes(16) }: { clock: Clock; salt?: Uint8Array | undefined },
  ) {
    this.forMs = forMs
    this.entries = entries
    this.clock = clock
    this.salt = salt
  }

  has(id: string): boolean {
    if (this.filters.length === 0) return false
    const probes = this.probes(id)
    return this.filters.some(({ bits }) => probes.every((at) => (bits[at >>> 5]! >>> (at & 31)) & 1))
  }

  add(id: string): void {
    const now = this.clock.now()
    while (this.filters[0] !== undefined && now - this.filters[0].newest > this.forMs) this.filters.shift()
    let filter = this.filters.at(-1)
    if (filter === undefined || filter.count >= this.entries) {
      if (this.filters.length >= MAX_FILTERS) this.filters.shift()
      filter = { bits: new Uint32Array((this.entries * FILTER.bits) >>> 5), count: 0, newest: now }
      this.filters.push(filter)
    }
    for (const at of this.probes(id)) filter.bits[at >>> 5]! |= 1 << (at & 31)
    filter.count++
    // If the clock is set back, the filter must not look older.
    filter.newest = Math.max(filter.newest, now)
  }

  private probes(id: string): number[] {
    const hash = createHash('sha256').update(this.salt).update(id).digest()
    return Array.from(
      { length: FILTER.probes },
      (_, i) => hash.readUInt32BE(i * 4) % (this.entries * FILTER.bits),
    )
  }
}
