// The rollout buffer of all replay plugins: first-in, first-out lanes, bounded by records and bytes.
//
// A buffer belongs to one policy. Token ids and log-probs of another lineage or tokenizer are meaningless
// here, so the first group of another policy empties it. After a roll-back, rollouts from the undone versions
// are dropped as well.

import type { PolicyReference } from '../../../protocol/train/index.ts'
import { read, write } from './saved.ts'
import { bytesOf, type Stored } from './stored.ts'

interface BufferLimits {
  records: number
  bytes: number
  /** Maximum number of records in one lane. */
  perLane: number
}

export interface ReplayBuffer {
  readonly size: number
  readonly bytes: number
  /** Empties the buffer if it belongs to another policy. */
  belongTo(policy: Pick<PolicyReference, 'lineage' | 'tokenizer'>): void
  /** Adds a record, then drops the oldest of its lane and the oldest of all until all limits are met. */
  add(stored: Stored): void
  /** Oldest first. */
  lane(name: string): readonly Stored[]
  all(): Stored[]
  drop(which: (stored: Stored) => boolean): void
  save(extra?: unknown): Uint8Array
  /** Replaces the contents; returns the saved `extra`. Throws on damaged bytes. */
  load(bytes: Uint8Array): unknown
}

export function createReplayBuffer(limits: BufferLimits): ReplayBuffer {
  const lanes = new Map<string, Stored[]>()
  const all = new Set<Stored>()
  let [lineage, tokenizer] = ['', '']
  let bytes = 0

  const remove = (stored: Stored): void => {
    const left = (lanes.get(stored.lane) ?? []).filter((one) => one !== stored)
    if (left.length > 0) lanes.set(stored.lane, left)
    else lanes.delete(stored.lane)
    if (all.delete(stored)) bytes -= bytesOf(stored)
  }
  const clear = (): void => {
    lanes.clear()
    all.clear()
    bytes = 0
  }
  const add = (stored: Stored): void => {
    lanes.set(stored.lane, [...(lanes.get(stored.lane) ?? []), stored])
    all.add(stored)
    bytes += bytesOf(stored)
    if (lanes.get(stored.lane)!.length > limits.perLane) remove(lanes.get(stored.lane)![0]!)
    for (const oldest of all) {
      if (all.size <= limits.records && bytes <= limits.bytes) break
      remove(oldest)
    }
  }

  return {
    get size() {
      return all.size
    },
    get bytes() {
      return bytes
    },
    belongTo(policy) {
      if (policy.lineage === lineage && policy.tokenizer === tokenizer) return
      clear()
      lineage = policy.lineage
      tokenizer = policy.tokenizer
    },
    add,
    lane: (name) => lanes.get(name) ?? [],
    all: () => [...all],
    drop(which) {
      for (const stored of all) if (which(stored)) remove(stored)
    },
    save: (extra = null) => write({ lineage, tokenizer, stored: [...all], extra }),
    load(saved) {
      const { stored, extra, ...policy } = read(saved)
      clear()
      lineage = policy.lineage
      tokenizer = policy.tokenizer
      for (const one of stored) add(one)
      return extra
    },
  }
}
