// The sections [checkpoint], [eval] and [metrics]: what the node saves and shows of its training.

import { z } from 'zod'

export const checkpoint = z.strictObject({
  every_steps: z.int().min(1).default(50).describe('steps between checkpoints'),
  every_seconds: z
    .number()
    .min(0)
    .default(300)
    .describe(
      'maximum seconds between checkpoints, if saving takes less than 2 % of the time; 0: no maximum',
    ),
  keep: z
    .int()
    .min(1)
    .max(1000)
    .default(3)
    .describe('checkpoints kept: the newest, and older ones at least half of every_steps apart'),
})

export const evaluation = z.strictObject({
  every_seconds: z.number().min(0).default(60).describe('seconds between held-out evaluations; 0: none'),
  prompts_per_task: z.int().min(1).max(100_000).default(100).describe('held-out prompts per task'),
})

export const metrics = z.strictObject({
  tensorboard: z.string().min(1).optional().describe("folder for TensorBoard's event files"),
})
