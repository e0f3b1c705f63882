// The header of a saved replay buffer: everything but the numeric arrays, whose lengths it contains.

import { z } from 'zod'

const count = z.number().int().nonnegative()
const text = z.string()
const turn = z.strictObject({
  state: text,
  observation: text,
  start: count,
  length: count,
  reward: z.number(),
})
const rolloutSchema = z.strictObject({
  text: z.string(),
  finish: z.enum(['stop', 'length', 'aborted']),
  reward: z.number(),
  arm: z.string(),
  segments: z.array(z.strictObject({ version: count, start: count, length: count })),
  taskReward: z.number().optional(),
  rewardParts: z.record(z.string(), z.number()).optional(),
  turns: z.array(turn).optional(),
  tokens: count,
  conditioning: count,
  masked: z.boolean(),
  advantage: z.union([z.number(), z.literal('tokens'), z.null()]),
})
export const headerSchema = z.strictObject({
  form: z.literal(1),
  lineage: z.string(),
  tokenizer: z.string(),
  extra: z.json(),
  stored: z.array(
    z.strictObject({
      lane: z.string(),
      prompt: z.strictObject({ task: z.string(), taskVersion: count, seed: count, difficulty: z.number() }),
      group: z.string(),
      version: count,
      bornAt: z.number(),
      tainted: z.boolean(),
      uses: count,
      mark: z.number(),
      rollouts: z.array(rolloutSchema),
    }),
  ),
})
