// From the config, and from what a checkpoint has already decided, to what the plan may choose from.

import { WaggleError } from '../../../protocol/errors.ts'
import { ADAPTER_TARGETS, type AdapterSpec } from '../../engine/decoder.ts'
import type { Tokenizer } from '../tokenizer.ts'
import { type MemoryHere, memoryBudget } from './budget.ts'
import type { Wish } from './choose.ts'

/** The part of the config that decides about memory. */
export interface TrainingConfig {
  model: { max_completion_tokens: number }
  engine: { memory_gb: number; micro_batch_tokens: number }
  rollout: { group_size: number }
  training: { method: Wish['method']; lora_rank: number; lora_alpha: number; foreign_groups: number }
  swarm: { enabled: boolean }
}

export interface WishParts {
  config: TrainingConfig
  /** Questions like those that will be asked, to see how long prompts are. */
  questions: readonly string[]
  tokenizer: Pick<Tokenizer, 'encodePrompt'>
  /** What the checkpoint to go on from trains; undefined where there is none. */
  checkpoint: { adapter?: AdapterSpec | undefined } | undefined
  memory: MemoryHere
  /** Models of plugins beside the policy that are the node's own model, with weights of their own. */
  roles?: number
  /** Bytes that other models of plugins take. */
  taken?: number
}

/** Prompts vary; what was not seen may be longer by so much. */
const LONGER = 1.25

/** Throws E_CHECKPOINT where the config wants another method than the checkpoint was trained with. */
export function wishOf({
  config,
  questions,
  tokenizer,
  checkpoint,
  memory,
  roles = 0,
  taken = 0,
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
  const longest = questions.reduce(
    (most, question) => Math.max(most, tokenizer.encodePrompt(question).length),
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
    budget: Math.max(0, memoryBudget(engine.memory_gb, memory) - taken),
    work: {
      prompt: Math.ceil(longest * LONGER),
      completion: model.max_completion_tokens,
      groupSize: rollout.group_size,
      mixes: swarm.enabled && training.foreign_groups > 0,
      ...(roles > 0 ? { roles } : {}),
    },
  }
}
