// The input of `waggle plugins run`: a closed schema for each hook. Missing fields of groups get defaults, so that an
// input needs only what the plugin reads, such as rewards.

import { z } from 'zod'
import type { Advantages } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout, Turn } from '../../../protocol/train/index.ts'

const prompt = z.strictObject({
  task: z.string().min(1).max(64).default('basic_arithmetic'),
  taskVersion: z.int().min(1).default(1),
  seed: z.int().min(0).max(0xffff_ffff).default(0),
  difficulty: z.int().min(0).default(0),
})
const numbers = z.array(z.number()).max(65_536)
const turn = z.strictObject({
  state: z.string().max(65_536),
  observation: z.string().max(65_536).default(''),
  start: z.int().min(0).optional().describe('default: the end of the turn before it'),
  length: z.int().min(0).max(65_536).default(1),
  reward: z.number().default(0),
})
const rollout = z
  .strictObject({
    reward: z.number(),
    taskReward: z.number().optional(),
    text: z.string().max(65_536).optional(),
    tokens: z.array(z.int()).min(1).max(65_536).optional().describe('token IDs; default: `length` zeros'),
    length: z.int().min(1).max(65_536).optional(),
    logprobs: numbers.optional(),
    entropies: numbers.optional(),
    lossMask: z
      .array(z.union([z.literal(0), z.literal(1)]))
      .max(65_536)
      .optional(),
    turns: z.array(turn).min(1).max(4096).optional(),
    rewardParts: z.record(z.string(), z.number()).optional(),
    finish: z.enum(['stop', 'length', 'aborted']).default('stop'),
    version: z.int().min(0).default(0),
    replayed: z.int().min(0).optional(),
    prefix: z.int().min(1).optional().describe('tokens that it continued'),
  })
  .superRefine((given, context) => {
    const length = lengthOf(given)
    for (const name of ['tokens', 'logprobs', 'entropies', 'lossMask'] as const) {
      const list = given[name]
      if (list && list.length !== length)
        context.addIssue({
          code: 'custom',
          path: [name],
          message: `has ${list.length} numbers for ${length} tokens`,
        })
    }
    if (given.turns && endOf(given.turns) > length)
      context.addIssue({
        code: 'custom',
        path: ['turns'],
        message: `end at token ${endOf(given.turns)} of ${length}`,
      })
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
const row = z
  .strictObject({ columns: z.record(z.string(), numbers.min(1)) })
  .superRefine(({ columns }, context) => {
    const [first, ...rest] = Object.entries(columns)
    for (const [name, { length }] of rest)
      if (first && length !== first[1].length)
        context.addIssue({
          code: 'custom',
          path: ['columns', name],
          message: `has ${length} numbers where ${first[0]} has ${first[1].length}; all columns of a row have one number per token`,
        })
  })
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
    rows: z.array(row).max(4096),
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

interface Sized {
  tokens?: readonly number[] | undefined
  length?: number | undefined
  logprobs?: readonly number[] | undefined
  entropies?: readonly number[] | undefined
  lossMask?: readonly number[] | undefined
  turns?: z.output<typeof turn>[] | undefined
}

/** Number of tokens of a rollout, taken from the first of these fields that is given. */
function lengthOf({ tokens, length, logprobs, entropies, lossMask, turns = [] }: Sized): number {
  return (
    tokens?.length ??
    length ??
    logprobs?.length ??
    entropies?.length ??
    lossMask?.length ??
    Math.max(1, endOf(turns))
  )
}

const endOf = (turns: z.output<typeof turn>[]): number =>
  Math.max(0, ...placed(turns).map(({ start, length }) => start + length))

/** The turns with their starts filled in. */
function placed(turns: z.output<typeof turn>[]): Turn[] {
  let end = 0
  return turns.map(({ start = end, ...rest }) => {
    end = start + rest.length
    return { ...rest, start }
  })
}

export function advantagesOf(given: z.output<typeof advantages>): Advantages {
  return given.map((row) =>
    row.map((value) => (typeof value === 'number' ? value : Float32Array.from(value))),
  )
}

function rolloutOf(given: z.output<typeof rollout>): Rollout {
  const { tokens, logprobs, entropies, lossMask, turns, text, version } = given
  const ids = tokens ? Int32Array.from(tokens) : new Int32Array(lengthOf(given))
  const { reward, finish, taskReward, rewardParts, replayed, prefix } = given
  return {
    reward,
    finish,
    text: text ?? '',
    tokens: ids,
    segments: [{ version, start: 0, length: ids.length }],
    ...(logprobs ? { behaviourLogprobs: Float32Array.from(logprobs) } : {}),
    ...(entropies ? { entropies: Float32Array.from(entropies) } : {}),
    ...(lossMask ? { lossMask: Uint8Array.from(lossMask) } : {}),
    ...(turns ? { turns: placed(turns) } : {}),
    ...(taskReward === undefined ? {} : { taskReward }),
    ...(rewardParts ? { rewardParts } : {}),
    ...(replayed === undefined ? {} : { replayed }),
    ...(prefix === undefined ? {} : { prefix }),
  }
}
