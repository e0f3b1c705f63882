// What `waggle plugins run` reads: a closed schema a hook, and groups as JSON made whole, so that whoever wants to try a
// plugin writes rewards and nothing that it does not look at.

import { z } from 'zod'
import type { Advantages } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'

const prompt = z.strictObject({
  task: z.string().min(1).max(64).default('basic_arithmetic'),
  taskVersion: z.int().min(1).default(1),
  seed: z.int().min(0).max(0xffff_ffff).default(0),
  difficulty: z.int().min(0).default(0),
})
const numbers = z.array(z.number()).max(65_536)
const rollout = z.strictObject({
  reward: z.number(),
  taskReward: z.number().optional(),
  text: z.string().max(65_536).optional(),
  tokens: z
    .array(z.int())
    .min(1)
    .max(65_536)
    .optional()
    .describe('token ids; as many zeros as `length` says if left out'),
  length: z.int().min(1).max(65_536).optional(),
  logprobs: numbers.optional(),
  entropies: numbers.optional(),
  rewardParts: z.record(z.string(), z.number()).optional(),
  finish: z.enum(['stop', 'length', 'aborted']).default('stop'),
  version: z.int().min(0).default(0),
  replayed: z.int().min(0).optional(),
})
const group = z.strictObject({
  id: z.string().min(1).max(128).optional(),
  prompt: prompt.prefault({}),
  author: z.string().max(128).default('self'),
  version: z.int().min(0).default(0),
  arm: z.string().max(64).default('base'),
  tainted: z.boolean().optional(),
  always: z.boolean().optional(),
  rollouts: z.array(rollout).min(1).max(4096),
})
const groups = z.array(group).max(4096)
const advantages = z.array(z.array(z.union([z.number(), numbers])))
const common = {
  settings: z.record(z.string(), z.unknown()).default({}).describe("the plugin's own settings"),
  step: z.int().min(0).default(0),
  seed: z.int().min(0).default(1),
}

export const INPUT = z.discriminatedUnion('hook', [
  z.strictObject({ hook: z.literal('advantage'), ...common, groups }),
  z.strictObject({ hook: z.literal('modify'), ...common, groups, advantages }),
  z.strictObject({ hook: z.literal('columns'), ...common, groups, advantages }),
  z.strictObject({
    hook: z.literal('group'),
    ...common,
    groups,
    at: z.enum(['round', 'batch']).default('batch'),
    version: z.int().min(0).default(0),
  }),
  z.strictObject({
    hook: z.literal('correct'),
    ...common,
    rows: z.array(z.strictObject({ columns: z.record(z.string(), numbers.min(1)) })).max(4096),
  }),
  z.strictObject({ hook: z.literal('weigh'), ...common, candidates: z.array(prompt).max(100_000) }),
  z.strictObject({
    hook: z.literal('select'),
    ...common,
    want: z.int().min(1).max(4096),
    rollouts: z.int().min(1).max(1024).default(8),
    tasks: z
      .array(
        z.strictObject({ name: z.string(), version: z.int().default(1), difficulty: z.int().default(0) }),
      )
      .default([]),
    candidates: z.array(prompt).max(100_000).optional(),
    weights: numbers.optional(),
  }),
])
export type Input = z.output<typeof INPUT>

export function groupsOf(given: z.output<typeof groups>): Group[] {
  return given.map(({ rollouts, version, id, tainted, always, ...rest }, i) => ({
    ...rest,
    id: id ?? i.toString(16).padStart(64, '0'),
    conditioning: Int32Array.of(0),
    policy: { lineage: 'run', tokenizer: 'run', version },
    bornAt: 0,
    bornVersion: version,
    ...(tainted === undefined ? {} : { tainted }),
    ...(always === undefined ? {} : { always }),
    rollouts: rollouts.map(rolloutOf),
  }))
}

export function advantagesOf(given: z.output<typeof advantages>): Advantages {
  return given.map((row) =>
    row.map((value) => (typeof value === 'number' ? value : Float32Array.from(value))),
  )
}

function rolloutOf({
  tokens,
  length,
  logprobs,
  entropies,
  text,
  version,
  ...rest
}: z.output<typeof rollout>): Rollout {
  const ids = Int32Array.from(tokens ?? Array(length ?? logprobs?.length ?? entropies?.length ?? 1).fill(0))
  const { reward, finish, taskReward, rewardParts, replayed } = rest
  return {
    reward,
    finish,
    text: text ?? '',
    tokens: ids,
    segments: [{ version, start: 0, length: ids.length }],
    ...(logprobs ? { behaviourLogprobs: Float32Array.from(logprobs) } : {}),
    ...(entropies ? { entropies: Float32Array.from(entropies) } : {}),
    ...(taskReward === undefined ? {} : { taskReward }),
    ...(rewardParts ? { rewardParts } : {}),
    ...(replayed === undefined ? {} : { replayed }),
  }
}
