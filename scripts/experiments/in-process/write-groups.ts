// Samples and verifies answers to given prompts: groups as a node makes them, but without its rounds.

import type { Sampler } from '../../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import { generateRound } from '../../../daemon/rollout/writing/generate.ts'
import type { Ask, Random } from '../../../protocol/plugin/index.ts'
import type { Group, PolicyReference } from '../../../protocol/train/index.ts'

export interface WriteOptions {
  asks: readonly Ask[]
  policy: PolicyReference
  author: string
  maxNewTokens: number
  random: Random
}

export interface Writer {
  sampler: Sampler
  tokenizer: Tokenizer
  tasks: TaskBook
}

/** In the order of the asks; tasks with turns are played to their ends. */
export async function writeGroups({ random, ...options }: WriteOptions, by: Writer): Promise<Group[]> {
  const sampleSeed = (): number => Math.floor(random() * 2 ** 32)
  const { groups } = await generateRound({ ...options, temperature: 1, sampleSeed, now: () => 0 }, by)
  return groups
}
