// Which nodes' weights can be joined: those with the same frozen base and the same trained tensors, that began with the
// same values of them.

import { createHash } from 'node:crypto'
import type { AdapterSpec } from '../engine/decoder.ts'

interface LineageOptions {
  /** Digest of the model that training starts from, 64 hex digits. */
  base: string
  /** Left out if all parameters are trained. */
  adapter?: AdapterSpec | undefined
}

/** 64 hex digits. An adapter's first values are drawn from them: see live-policy.ts. */
export function lineageOf({ base, adapter }: LineageOptions): string {
  const shape = adapter
    ? `rank ${adapter.rank}, alpha ${adapter.alpha}, ${[...adapter.targets].sort().join(' ')}`
    : 'all parameters'
  return createHash('sha256').update(`waggle/lineage/1\0${base}\0${shape}`).digest('hex')
}
