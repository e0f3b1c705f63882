// The sections [rollout], [training] and [[roles]].

import { z } from 'zod'
import { AGGREGATIONS } from '../../trainer/aggregation.ts'
import { LEARNING_RATES } from '../learning-rates.ts'

export const rollout = z.strictObject({
  group_size: z
    .int()
    .min(1)
    .max(256)
    .default(8)
    .describe('rollouts per prompt; 1 only with estimators that need no groups'),
  temperature: z.number().gt(0).max(5).default(1).describe('sampling temperature'),
  in_flight_weights: z
    .boolean()
    .default(false)
    .describe('continue unfinished rollouts with the newest weights'),
  groups_per_round: z.int().min(1).max(1024).default(16).describe('prompts per round'),
  prompts: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe('training prompts per task; 0 draws new ones forever; some plugins need a fixed set'),
})

export const role = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9, _ and -')
    .describe("the role's name in its plugin, such as hinter"),
  model: z.string().min(1).optional().describe("as model.path; if unset, a copy of the node's model"),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('learning rate of AdamW; if unset, training.learning_rate'),
})

export const warmStart = z.strictObject({
  steps: z
    .int()
    .min(0)
    .max(10_000)
    .default(0)
    .describe('supervised steps on worked examples before a new run'),
  examples: z
    .int()
    .min(1)
    .max(10_000)
    .default(16)
    .describe('worked examples per task; no evaluation asks them'),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('learning rate of these steps; if unset, training.learning_rate'),
})

export const training = z.strictObject({
  method: z
    .enum(['auto', 'full', 'lora'])
    .default('auto')
    .describe(
      "lora: an adapter; full: all parameters, which needs more memory; auto: as in this home's checkpoints, lora in a new home",
    ),
  lora_rank: z.int().min(1).max(1024).default(16).describe('rank of the adapter of a new home'),
  lora_alpha: z
    .number()
    .gt(0)
    .max(65_536)
    .default(32)
    .describe('the adapter of a new home is scaled by alpha / rank'),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .default(LEARNING_RATES.bundled)
    .describe(
      `learning rate of AdamW; if unset, ${LEARNING_RATES.other} with another model than the bundled one, ${LEARNING_RATES.full} where all parameters are trained`,
    ),
  warm_up_steps: z.int().min(0).default(10).describe('steps over which the learning rate rises from 0'),
  weight_decay: z.number().min(0).max(1).default(0).describe('decoupled weight decay'),
  max_gradient_norm: z
    .number()
    .gt(0)
    .default(1)
    .describe('largest global norm of a gradient; longer ones are scaled down'),
  batch_groups: z
    .int()
    .min(1)
    .max(512)
    .default(16)
    .describe("groups in a batch; peers' groups may fill up to 7/8 of it"),
  batch_ramp_steps: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(100)
    .describe('steps over which batches grow from a quarter of batch_groups (at least four) to all'),
  max_peer_groups: z.int().min(0).max(512).default(512).describe("most peers' groups in a batch"),
  adaptive_sharing: z
    .boolean()
    .default(true)
    .describe(
      "train on no peers' groups while they do worse than own ones; false: always on all that wait, beside batch_groups own ones",
    ),
  minibatches: z.int().min(1).max(64).default(1).describe('optimizer steps per batch'),
  aggregation: z
    .enum(AGGREGATIONS)
    .default('token_mean')
    .describe(
      'how token losses are averaged; token_mean: over all tokens (DAPO); sequence_mean: in each rollout, then over rollouts (GRPO); sequence_sum: sums of rollouts (LUSPO); fixed_length: sums divided by the maximum length (Dr. GRPO)',
    ),
  max_staleness: z
    .int()
    .min(0)
    .max(10_000)
    .default(8)
    .describe('age in policy versions above which groups are not trained on'),
})
