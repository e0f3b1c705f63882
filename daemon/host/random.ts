// Named random streams derived from one seed. Streams are independent of each other, and the same seed gives the same
// numbers in every run.

import { createHash } from 'node:crypto'
import type { Random } from '../../protocol/plugin/index.ts'

/** xoshiro128** (Blackman & Vigna 2018), seeded with the SHA-256 of seed and name. */
export function randomStream(seed: number, name: string): Random {
  const digest = createHash('sha256').update(`${seed}/${name}`).digest()
  let a = digest.readUInt32LE(0)
  let b = digest.readUInt32LE(4)
  let c = digest.readUInt32LE(8)
  let d = digest.readUInt32LE(12) | 1
  const rotate = (x: number, k: number): number => (x << k) | (x >>> (32 - k))
  return () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const t = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = rotate(d, 11)
    return result / 2 ** 32
  }
}

/** An integer in [0, 2^32), derived from seed and name. */
export function hash32(seed: number, name: string): number {
  return createHash('sha256').update(`${seed}/${name}`).digest().readUInt32LE(0)
}
