// Answers given prompts and verifies the answers: a node's round without plugins, and with its prompts chosen.

import type { Sampler } from '../../../daemon/engine/engine.ts'
import type { PluginRound } from '../../../daemon/host/contract.ts'
import type { Tokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import { playRound, type Round } from '../../../daemon/rollout/round.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import type { PromptRequest } from '../../../protocol/plugin/index.ts'
import type { PolicyReference } from '../../../protocol/train/index.ts'

export interface WriteOptions {
  asks: readonly PromptRequest[]
  policy: PolicyReference
  author: string
  maxNewTokens: number
  /** Default: 1. */
  temperature?: number
  /** Maximum number of tokens of conditioning and completion together. Default: unlimited. */
  context?: number
  /** Sampling seed of a rollout, by its index in the round. */
  sampleSeed(index: number): number
  /** ms since the epoch. Default: 0. */
  now?(): number
  signal?: AbortSignal
}

export interface Writer {
  sampler: Sampler
  tokenizer: Tokenizer
  tasks: TaskBook
}

/** Groups are in the order of the asks; tasks with turns are played to their ends. */
export function writeGroups(
  { asks, sampleSeed, temperature = 1, context = Number.POSITIVE_INFINITY, ...options }: WriteOptions,
  { tasks, ...parts }: Writer,
): Promise<Round> {
  let index = 0
  return playRound(
    {
      now: () => 0,
      ...options,
      ...{ temperature, context },
      sampleSeed: () => sampleSeed(index++),
      view: { tasks: tasks.view, rollouts: 0 },
      want: asks.length,
      // Of plugins' own work and parked groups, of which there are none.
      ...{ vocabulary: Number.POSITIVE_INFINITY, maxStaleness: 0 },
    },
    { ...parts, tasks, hooks: askingFor(asks) },
  )
}

function askingFor(asks: readonly PromptRequest[]): PluginRound {
  return {
    receive: async () => {},
    select: async () => [...asks],
    oversample: (want) => want,
    compose: async () => undefined,
    ...{ steers: false, extends: false },
    steer: async () => new Map(),
    extend: async () => [],
    reward: async (group) => group,
    group: async (groups) => [...groups],
    observe: async () => {},
    spend: () => true,
    tokensLeft: () => 0,
    isOut: () => false,
  }
}
