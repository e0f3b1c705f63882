// Keeps recently admitted frames, including this node's own, for peers that missed them. They are in memory, limited by
// count, bytes and age. Older groups are too stale for anyone to want.

import { createHash } from 'node:crypto'
import { MAX_LISTED } from '../../../protocol/wire/index.ts'
import type { Clock } from '../types.ts'

/** The maximum age that admission accepts: see MAX_AGE_MS there. */
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
    // Copied, because gossip's buffers are slices of larger ones, which would stay in memory with them.
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

  /** Hashes of frames received in the last `sinceMs`, oldest first. Without `tasks`, frames of all tasks. */
  list(sinceMs: number, tasks: readonly string[]): string[] {
    const from = this.clock.now() - sinceMs
    const wanted = new Set(tasks)
    const hashes: string[] = []
    for (const [hash, { at, task }] of this.entries)
      if (at >= from && (wanted.size === 0 || wanted.has(task))) hashes.push(hash)
    return hashes
  }
}
