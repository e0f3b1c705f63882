// The sections [rollout], [training] and [[roles]].

import { z } from 'zod'
import { DEFAULT_RULE, MIXING_RULES, type MixingRuleName } from '../../trainer/sharing/mixing/index.ts'

export const rollout = z.strictObject({
  group_size: z
    .int()
    .min(1)
    .max(256)
    .default(8)
    .describe('rollouts per prompt; 1 works only with estimators that need no groups'),
  temperature: z.number().gt(0).max(5).default(1).describe('sampling temperature'),
  in_flight_weights: z
    .boolean()
    .default(false)
    .describe(
      'continue unfinished rollouts with the newest weights, instead of those they were started with',
    ),
  groups_per_round: z.int().min(1).max(1024).default(16).describe('prompts per round'),
  prompts: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(0)
    .describe(
      'number of training prompts per task; 0 draws new prompts forever. Plugins that track single prompts need a fixed set',
    ),
})

export const role = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9, _ and -')
    .describe('the name of the role in its plugin, such as hinter'),
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      "a folder or a name on the hub, as for model.path; if unset, a copy of the node's model with its own weights",
    ),
  learning_rate: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('learning rate of AdamW; if unset, training.learning_rate'),
})

export const training = z.strictObject({
  method: z
    .enum(['auto', 'full', 'lora'])
    .default('auto')
    .describe(
      'train all parameters (full) or a LoRA adapter on frozen weights (lora), which needs far less memory; "auto" trains all parameters if they fit. A home keeps the method that it started with',
    ),
  lora_rank: z.int().min(1).max(1024).default(16).describe('rank of the adapter'),
  lora_alpha: z.number().gt(0).max(65_536).default(32).describe('the adapter is scaled by alpha / rank'),
  learning_rate: z.number().gt(0).max(1).default(1e-4).describe('learning rate of AdamW'),
  scale_rate: z
    .boolean()
    .default(false)
    .describe(
      'multiply the learning rate by the square root of the groups in a batch over those that it would have alone, up to 2; groups count less if their author does',
    ),
  warm_up_steps: z
    .int()
    .min(0)
    .default(10)
    .describe(
      'number of steps over which the learning rate rises from 0, while AdamW has no estimate of the gradient scale',
    ),
  weight_decay: z.number().min(0).max(1).default(0).describe('decoupled weight decay'),
  max_gradient_norm: z
    .number()
    .gt(0)
    .default(1)
    .describe('gradients with a larger global norm are scaled down to it'),
  own_groups: z
    .int()
    .min(1)
    .max(512)
    .default(16)
    .describe(
      'groups in a batch (I): it is due when so many wait. Foreign groups count if the mixing rule puts them into the same batch, and take the place of own ones, of which an eighth stays if so many wait',
    ),
  growth_steps: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(100)
    .describe(
      'number of steps over which batches grow from a quarter of own_groups, or four, to all of them; 0 starts with all',
    ),
  foreign_groups: z
    .int()
    .min(0)
    .max(512)
    .default(512)
    .describe(
      'maximum number of foreign groups in a batch (J). They fill it up to own_groups; with scale_rate, how many it has follows from the measured noise and cost of groups; with adaptive_sharing = false, it takes all up to this number',
    ),
  adaptive_sharing: z
    .boolean()
    .default(true)
    .describe(
      'have no foreign groups in a batch while they do worse than own groups; false takes all that there are, beside own_groups own ones',
    ),
  mixing: z
    .enum(Object.keys(MIXING_RULES) as [MixingRuleName, ...MixingRuleName[]])
    .default(DEFAULT_RULE)
    .describe(
      `how own and foreign gradients become one step. ${Object.entries(MIXING_RULES)
        .map(([name, { summary }]) => `${name}: ${summary}`)
        .join('; ')}`,
    ),
  minibatches: z.int().min(1).max(64).default(1).describe('optimizer steps per batch'),
  aggregation: z
    .enum(['token_mean', 'sequence_mean', 'sequence_sum', 'fixed_length'])
    .default('token_mean')
    .describe(
      'how token losses are combined. token_mean: every token has the same weight (DAPO); sequence_mean: the mean over each rollout, then over rollouts (GRPO); sequence_sum: the sum over each rollout, then the mean (LUSPO, with gspo); fixed_length: the sum over each rollout divided by the maximum length, then the mean (Dr. GRPO)',
    ),
  max_staleness: z
    .int()
    .min(0)
    .max(10_000)
    .default(8)
    .describe('groups older than this many policy versions are not trained on'),
})
