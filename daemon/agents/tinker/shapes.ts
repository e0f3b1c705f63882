// The JSON bodies of Tinker's client (tinker 0.38). Fields that are not here do not matter to this server; those that do,
// but are not supported, are refused.

import { z } from 'zod'

const id = z.string().min(1).max(256)
const name = z.string().max(256)
const count = z.int().min(0)
const metadata = z.record(z.string(), z.unknown()).nullish()
/** A field that asks for what is not there. */
const without = (what: string) => z.literal([0, null], `is not supported: ${what}`).optional()
const optimizer = z
  .object({ type: z.literal('adamw', 'is not supported: models are trained with AdamW') })
  .optional()

export const CREATE_SESSION = z.object({
  user_metadata: metadata,
  display_name: name.nullish(),
})
export const OF_SESSION = z.object({ session_id: id })

export const CREATE_MODEL = z.object({
  session_id: id,
  model_seq_id: count,
  base_model: name,
  user_metadata: metadata,
  lora_config: z
    .object({
      rank: z.int().min(1).max(1024),
      train_mlp: z.boolean().default(true),
      train_attn: z.boolean().default(true),
    })
    .default({ rank: 32, train_mlp: true, train_attn: true }),
  optimizer_config: optimizer,
})
export type CreateModelBody = z.infer<typeof CREATE_MODEL>

export const OF_MODEL = z.object({ model_id: id })

const finite = z.number().min(0)
export const OPTIM_STEP = z.object({
  model_id: id,
  seq_id: count,
  adam_params: z.object(
    {
      learning_rate: finite,
      beta1: finite.max(1),
      beta2: finite.max(1),
      eps: finite,
      weight_decay: finite,
      grad_clip_norm: z.number(),
    },
    'is missing: models are trained with AdamW',
  ),
})

export const SAVE_WEIGHTS = z.object({
  model_id: id,
  seq_id: count,
  path: name,
  overwrite: z.boolean().default(false),
  user_metadata: metadata,
})

export const SAVE_FOR_SAMPLER = z.object({
  model_id: id,
  seq_id: count,
  path: name.nullish(),
  sampling_session_seq_id: count.nullish(),
  user_metadata: metadata,
})

export const LOAD_WEIGHTS = z.object({
  path: name,
  optimizer: z.boolean(),
  model_id: id.nullish(),
  seq_id: count.nullish(),
  session_id: id.nullish(),
  model_seq_id: count.nullish(),
  base_model: name.nullish(),
  user_metadata: metadata,
  optimizer_config: optimizer,
})
export type LoadBody = z.infer<typeof LOAD_WEIGHTS>

export const CREATE_SAMPLING_SESSION = z.object({
  session_id: id,
  sampling_session_seq_id: count,
  base_model: name.nullish(),
  model_path: name.nullish(),
})
export type SamplingSessionBody = z.infer<typeof CREATE_SAMPLING_SESSION>

export const OF_SAMPLING_SESSION = z.object({ sampling_session_id: id })

const stop = z.union([z.string(), z.array(z.string()).max(64), z.array(count).max(64)])
export const SAMPLE = z.object({
  sampling_session_id: id,
  seq_id: count,
  num_samples: z.int().min(1).default(1),
  prompt: z.object({
    chunks: z.array(
      z.object({
        type: z.literal('encoded_text', 'is not supported: images and sound cannot be read'),
        tokens: z.array(count),
      }),
    ),
  }),
  sampling_params: z.object({
    max_tokens: z.int().min(1).optional(),
    seed: z.int().optional(),
    stop: stop.optional(),
    temperature: z.number().min(0).default(1),
    top_k: z.int().default(-1),
    top_p: z.number().gt(0).max(1).default(1),
  }),
  prompt_logprobs: z.boolean().default(false),
  prompt_logprobs_last_n: z.int().min(1).optional(),
  topk_prompt_logprobs: count.default(0),
  topk_sample_logprobs: count.default(0),
  target_prompt_logprobs: without('log-probs of other tokens than those of the prompt'),
  prompt_alt_tokens_k: without('other tokens drawn at each place of the prompt'),
})
export type SampleBody = z.infer<typeof SAMPLE>

export const RETRIEVE_FUTURE = z.object({ request_id: id })
export const WEIGHTS_INFO = z.object({ tinker_path: name })
export const ANYTHING = z.looseObject({})
