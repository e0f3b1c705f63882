// The heads that this node made lately, so that it knows them again in the chains of strangers who averaged them.

import { unpackBeside } from '../heads/blocks.ts'
import type { Vector } from '../heads/vector.ts'
import { hashOf } from './state.ts'

export interface OwnHeads {
  add(bytes: Uint8Array): void
  has(hash: string): boolean
  /** As weights. */
  get(hash: string): Vector | undefined
  /** SHA-256 of each, oldest first. */
  names(): string[]
}

/** A stranger averages a head within a minute or two; its receipt names the step that follows for as long. */
const MAX_BYTES = 64 << 20
const MAX_HEADS = 64

/** `origin`: the values that all nodes of the lineage began with. */
export function createOwnHeads({ origin }: { origin(): Vector }): OwnHeads {
  const heads = new Map<string, Uint8Array>()
  return {
    add(bytes) {
      heads.set(hashOf(bytes), bytes)
      const most = Math.max(2, Math.min(MAX_HEADS, Math.floor(MAX_BYTES / bytes.length)))
      if (heads.size > most) heads.delete(heads.keys().next().value!)
    },
    has: (hash) => heads.has(hash),
    get(hash) {
      const bytes = heads.get(hash)
      return bytes && unpackBeside(origin(), bytes)
    },
    names: () => [...heads.keys()],
  }
}
