// Derives the options of the memory plan from the config and from what a checkpoint has already fixed.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import { ADAPTER_TARGETS, type AdapterSpec } from '../../engine/decoder.ts'
import type { BasePrecision } from '../files/base-weights.ts'
import type { Tokenizer } from '../tokens/tokenizer.ts'
import { type MemoryHere, memoryBudget } from './budget.ts'
import type { BaseWish, Wish } from './choose.ts'

/** The part of the config that affects memory. */
export interface TrainingConfig {
  model: { max_completion_tokens: number }
  engine: {
    memory_gb: number
    micro_batch_tokens: number
    base_precision?: 'auto' | Exclude<BasePrecision, 'file'>
  }
  rollout: { group_size: number }
  training: { method: Wish['method']; lora_rank: number; lora_alpha: number; foreign_groups: number }
  swarm: { enabled: boolean }
}

export interface WishParts {
  config: TrainingConfig
  /** Sample questions, to estimate prompt lengths. */
  questions: readonly Asked[]
  /** Most tokens of a prompt in a conversation with agents or environments, if there are any. */
  conversation?: number | undefined
  tokenizer: Pick<Tokenizer, 'encodePrompt'>
  /** What the checkpoint being resumed trains; undefined without one. */
  checkpoint: { adapter?: AdapterSpec | undefined } | undefined
  memory: MemoryHere
  /** Bytes of the model's weights in a precision. */
  baseBytes?: BaseWish['bytes']
  /** Number of plugin models that are copies of the node's model. */
  roles?: number
  /** Bytes of the other plugin models. */
  taken?: number
}

/** Margin for prompts that are longer than the samples. */
const LONGER = 1.25

/** Throws E_CHECKPOINT if the config's training method differs from the checkpoint's. */
export function wishOf({
  config,
  questions,
  conversation,
  tokenizer,
  checkpoint,
  memory,
  roles = 0,
  taken = 0,
  baseBytes,
}: WishParts): Wish {
  const { training, engine, model, rollout, swarm } = config
  const asked = training.method
  const had = checkpoint && (checkpoint.adapter ? 'lora' : 'full')
  if (had && asked !== 'auto' && asked !== had) {
    throw new WaggleError(
      'E_CHECKPOINT',
      `training.method is "${asked}", and the checkpoints in this home were trained with "${had}"`,
      { hint: `Set training.method to "${had}" or "auto", or start in a home of its own (--home DIR).` },
    )
  }
  const basePrecision = engine.base_precision ?? 'auto'
  if (had === 'full' && basePrecision !== 'auto' && basePrecision !== 'f32') {
    throw new WaggleError(
      'E_CHECKPOINT',
      `engine.base_precision is "${basePrecision}", and the checkpoints in this home were trained with "full"`,
      {
        hint: 'All parameters are trained as F32: set engine.base_precision to "auto", or start in a home of its own (--home DIR).',
      },
    )
  }
  const longest = questions.reduce(
    (most, { question, examples }) => Math.max(most, tokenizer.encodePrompt(question, examples).length),
    1,
  )
  return {
    method: had ?? asked,
    adapter: checkpoint?.adapter ?? {
      rank: training.lora_rank,
      alpha: training.lora_alpha,
      targets: [...ADAPTER_TARGETS],
    },
    microBatchTokens: engine.micro_batch_tokens,
    ...(baseBytes && { base: { asked: basePrecision, bytes: baseBytes } }),
    budget: Math.max(0, memoryBudget(engine.memory_gb, memory) - taken),
    work: {
      prompt: Math.max(conversation ?? 1, Math.ceil(longest * LONGER)),
      completion: model.max_completion_tokens,
      groupSize: rollout.group_size,
      mixes: swarm.enabled && training.foreign_groups > 0,
      ...(conversation === undefined ? {} : { hasConversations: true }),
      ...(roles > 0 ? { roles } : {}),
    },
  }
}
