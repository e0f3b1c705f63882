// Derives the options of the memory plan from the config and from what a checkpoint has already fixed.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import { ADAPTER_TARGETS, type AdapterSpec } from '../../engine/decoder.ts'
import type { BasePrecision } from '../files/base-weights.ts'
import type { Tokenizer } from '../tokens/tokenizer.ts'
import { type MemoryHere, memoryBudget } from './budget.ts'
import type { BaseWish, ConversationWish, Wish } from './choose.ts'

/** The part of the config that affects memory. */
export interface TrainingConfig {
  model: { max_completion_tokens: number }
  engine: {
    memory_gb: number
    micro_batch_tokens: number
    base_precision?: 'auto' | Exclude<BasePrecision, 'file'>
  }
  training: {
    method: 'auto' | Wish['method']
    lora_rank: number
    lora_alpha: number
    max_peer_groups: number
  }
  swarm: { enabled: boolean }
  agents: { listen?: string | undefined; max_tokens: number }
  serve: { listen?: string | undefined; max_calls: number }
  environments: readonly unknown[]
}

interface WishParts {
  config: TrainingConfig
  /** Sample questions, to estimate prompt lengths. */
  questions: readonly Asked[]
  /** The model's, in tokens. */
  contextLength: number
  tokenizer: Pick<Tokenizer, 'encodePrompt'>
  /** What the checkpoint being resumed trains; undefined without one. */
  checkpoint: { adapter?: AdapterSpec | undefined } | undefined
  memory: MemoryHere
  /** See Wish. */
  isOnProcessor: boolean
  /** Bytes of the model's weights in a precision. */
  baseBytes?: BaseWish['bytes']
  /** Number of plugin models that are copies of the node's model. */
  roles?: number
  /** Bytes of the other plugin models, which train this adapter, or all parameters if it is undefined. */
  taken?: (adapter: AdapterSpec | undefined) => number
  /** Plugins may ask teachers for answers. */
  teachersWrite?: boolean
  /** Bytes of models that only teach. */
  teachers?: number
}

/** Margin for prompts that are longer than the samples. */
const LONGER = 1.25

/** Tokens of a conversation that a plan has room for, even where that leaves fewer sequences side by side. */
const CONVERSATION = 2048

/** Throws E_CHECKPOINT if the config's training method, or its adapter, differs from the checkpoint's. */
export function wishOf({
  config,
  questions,
  contextLength,
  tokenizer,
  checkpoint,
  memory,
  isOnProcessor,
  roles = 0,
  taken,
  teachersWrite = false,
  teachers = 0,
  baseBytes,
}: WishParts): Wish {
  const { training, engine, model, swarm } = config
  const asked = training.method
  const had = checkpoint && (checkpoint.adapter ? 'lora' : 'full')
  if (had && asked !== 'auto' && asked !== had) {
    throw new WaggleError(
      'E_CHECKPOINT',
      `training.method is "${asked}", and the checkpoints in this home were trained with "${had}"`,
      { hint: `Set training.method to "${had}" or "auto", or start in a home of its own (--home DIR).` },
    )
  }
  if (checkpoint?.adapter) checkAdapter(checkpoint.adapter, training)
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
  const method = had ?? (asked === 'full' ? 'full' : 'lora')
  const adapter = checkpoint?.adapter ?? {
    rank: training.lora_rank,
    alpha: training.lora_alpha,
    targets: [...ADAPTER_TARGETS],
  }
  const others = taken?.(method === 'full' ? undefined : adapter) ?? 0
  return {
    ...{ method, adapter },
    microBatchTokens: engine.micro_batch_tokens,
    isOnProcessor,
    ...(baseBytes && { base: { asked: basePrecision, bytes: baseBytes } }),
    budget: Math.max(0, memoryBudget(engine.memory_gb, memory) - others),
    conversation: conversationOf(config, contextLength),
    work: {
      prompt: promptTokens(questions, tokenizer),
      completion: model.max_completion_tokens,
      mixes: swarm.enabled && training.max_peer_groups > 0,
      ...(roles > 0 ? { roles } : {}),
      ...(teachersWrite ? { teachersWrite } : {}),
      ...(teachers > 0 ? { teachers } : {}),
      ...(isServed(config) ? { served: config.serve.max_calls } : {}),
    },
  }
}

function checkAdapter(
  had: AdapterSpec,
  { lora_rank: rank, lora_alpha: alpha }: TrainingConfig['training'],
): void {
  if (had.rank === rank && had.alpha === alpha) return
  throw new WaggleError(
    'E_CHECKPOINT',
    `training.lora_rank is ${rank} and lora_alpha ${alpha}, and the adapter in this home has ${had.rank} and ${had.alpha}`,
    { hint: 'Leave both out, or start in a home of its own (--home DIR).' },
  )
}

/** Most tokens of a prompt, from samples. */
export function promptTokens(
  questions: readonly Asked[],
  tokenizer: Pick<Tokenizer, 'encodePrompt'>,
): number {
  const longest = questions.reduce(
    (most, { question, examples }) => Math.max(most, tokenizer.encodePrompt(question, examples).length),
    1,
  )
  return Math.ceil(longest * LONGER)
}

function conversationOf(
  { agents, serve, environments }: TrainingConfig,
  context: number,
): ConversationWish | undefined {
  if (!isServed({ agents, serve }) && environments.length === 0) return undefined
  const asked = agents.max_tokens
  const [least, most] = asked > 0 ? [asked, asked] : [CONVERSATION, context]
  return { least: Math.min(least, context), most: Math.min(most, context), context }
}

/** The gateway for agents answers calls without a rollout, too. */
function isServed({ agents, serve }: Pick<TrainingConfig, 'agents' | 'serve'>): boolean {
  return (agents.listen ?? serve.listen) !== undefined
}
