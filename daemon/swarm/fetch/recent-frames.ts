// Frames that came lately and were let in, own ones included, kept so that peers who missed them can ask. In memory and
// bounded by count, bytes and age: a node that was away for longer than that has missed what nobody wants any more.

import { createHash } from 'node:crypto'
import { MAX_LISTED } from '../../../protocol/wire/index.ts'
import type { Clock } from '../types.ts'

/** As old as admission takes: see maxAgeMs there. */
export const KEEP_MS = 30 * 60_000
const MAX_BYTES = 64 << 20

interface Entry {
  bytes: Uint8Array
  task: string
  at: number
}

export function hashOf(frame: Uint8Array): string {
  return createHash('sha256').update(frame).digest('hex')
}

export class RecentFrames {
  private readonly clock: Clock
  private readonly maxBytes: number
  /** Oldest first. */
  private readonly entries = new Map<string, Entry>()
  private bytes = 0

  constructor({ maxBytes = MAX_BYTES }: { maxBytes?: number }, { clock }: { clock: Clock }) {
    this.maxBytes = maxBytes
    this.clock = clock
  }

  add(frame: Uint8Array, task: string): string {
    const hash = hashOf(frame)
    if (this.entries.has(hash)) return hash
    // A copy: gossip's buffers are slices of larger ones that would be held with them.
    this.entries.set(hash, { bytes: new Uint8Array(frame), task, at: this.clock.now() })
    this.bytes += frame.length
    const oldest = this.clock.now() - KEEP_MS
    for (const [key, entry] of this.entries) {
      if (this.bytes <= this.maxBytes && this.entries.size <= MAX_LISTED && entry.at >= oldest) break
      this.entries.delete(key)
      this.bytes -= entry.bytes.length
    }
    return hash
  }

  has(hash: string): boolean {
    return this.entries.has(hash)
  }

  get(hash: string): Uint8Array | undefined {
    return this.entries.get(hash)?.bytes
  }

  /** Hashes of what came in the last `sinceMs`, oldest first; of these tasks, or of all if none is named. */
  list(sinceMs: number, tasks: readonly string[]): string[] {
    const from = this.clock.now() - sinceMs
    const wanted = new Set(tasks)
    const hashes: string[] = []
    for (const [hash, { at, task }] of this.entries)
      if (at >= from && (wanted.size === 0 || wanted.has(task))) hashes.push(hash)
    return hashes
  }
}
