// Groups for tests: random tokens within a small vocabulary.

import type { Group } from '../../protocol/train/index.ts'
import { uniform } from '../engine/model.ts'

export interface GroupOptions {
  seed?: number
  author?: string
  lineage?: string
  version?: number
  bornVersion?: number
  bornAt?: number
  /** False: the sampler's log-probs are unknown. */
  known?: boolean
  vocabulary?: number
}

let made = 0

export function group(
  rewards: readonly number[],
  {
    seed = 1,
    author = 'me',
    lineage = 'a',
    version = 3,
    bornVersion = version,
    bornAt = 0,
    known = true,
    vocabulary = 23,
  }: GroupOptions = {},
): Group {
  const random = uniform(seed * 7919 + rewards.length)
  const tokens = (length: number): Int32Array =>
    Int32Array.from({ length }, () => Math.floor(random() * vocabulary))
  return {
    id: (++made).toString(16).padStart(64, '0'),
    prompt: { task: 'basic_arithmetic', taskVersion: 1, seed, difficulty: 0 },
    conditioning: tokens(5),
    author,
    policy: { lineage, tokenizer: 'b', version },
    arm: 'base',
    rollouts: rewards.map((reward) => {
      const written = tokens(2 + Math.floor(random() * 6))
      return {
        text: '',
        tokens: written,
        ...(known ? { behaviourLogprobs: Float32Array.from(written, () => -2 - 2 * random()) } : {}),
        segments: [{ version, start: 0, length: written.length }],
        finish: 'stop' as const,
        reward,
      }
    }),
    bornAt,
    bornVersion,
  }
}
