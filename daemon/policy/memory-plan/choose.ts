// Chooses settings that fit into memory: how frozen weights are kept, tokens per micro-batch, and sequences decoded side
// by side. If nothing fits, the error has the numbers and the nearest setting that does.

import { bytes } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { AdapterSpec, DecoderSpec } from '../../engine/decoder.ts'
import type { BaseBytes, BasePrecision } from '../files/base-weights.ts'
import { estimateMemory, type MemoryEstimate, MIXING, type Work, withAdapter } from './estimate.ts'

export interface Wish {
  /** All parameters or the adapter. */
  method: 'full' | 'lora'
  adapter: AdapterSpec
  /** 0 means as many as fit, up to what is best for the engine. */
  microBatchTokens: number
  /** No other device computes. */
  isOnProcessor?: boolean
  /** Bytes that the node may use in total. */
  budget: number
  work: Omit<
    Work,
    'slots' | 'microBatchTokens' | 'checkpointing' | 'baseBytes' | 'packs' | 'hasConversations'
  >
  /** How frozen weights may be kept; F32 if left out. */
  base?: BaseWish
  /** Tokens of a conversation, prompt and answer together, if there are conversations with agents or environments. */
  conversation?: ConversationWish | undefined
}

export interface ConversationWish {
  /** What the plan must have room for. */
  least: number
  /** The plan is extended towards this, as far as it costs neither precision of frozen weights nor sequences side by side. */
  most: number
  /** The model's context. */
  context: number
}

export interface BaseWish {
  /** `auto` keeps them as F32 if there is ample room, otherwise as they are in the file. */
  asked: 'auto' | BasePrecision
  bytes(precision: BasePrecision): BaseBytes
}

export interface MemoryPlan {
  /** Undefined if all parameters are trained. */
  adapter: AdapterSpec | undefined
  microBatchTokens: number
  checkpointing: boolean
  /** Engines on the processor give memory back as soon as it is free; see engine/onnx/core.ts. */
  returnsMemory: boolean
  /** How frozen weights are kept. */
  base: BasePrecision
  slots: number
  /** The sampler keeps a packed copy of 4- and 8-bit blocks, which makes its matmuls fast. */
  packs: boolean
  estimate: MemoryEstimate
  budget: number
  /** The estimate includes a separate gradient for peers' groups. */
  mixes: boolean
  /** Most tokens of a conversation, and the model's context; absent if there are no conversations. */
  conversation?: { limit: number; context: number }
}

/**
 * Sizes of micro-batches, and the binary logarithm of the time that a step takes with each, 0 for the first: measured
 * (docs/results/models.md) but the last, which goes on from them. Larger ones gain nothing.
 */
const MICRO_BATCHES = new Map([
  [2048, 0],
  [1024, 0.02],
  [512, 0.18],
  [256, 0.57],
  [128, 1.2],
])
/** With the largest a processor takes twice the memory, and trains at most 1.02 times as fast, or more slowly. */
const LARGEST_ON_PROCESSOR = 1024
/** Bytes of a micro-batch. Where it takes less, giving memory back costs more time than it is worth; beyond, 2 to 3 %. */
const MUCH = 512e6
const SLOTS = [64, 32, 16, 8, 4, 1]
/** Having to go below this makes frozen weights as in the file the better choice, if that is left open. */
const ENOUGH = { microBatchTokens: 512, slots: 8 }

/** Throws E_MODEL if nothing fits. `name` is the model's name, for the message. */
export function planMemory(name: string, spec: DecoderSpec, wish: Wish): MemoryPlan {
  const plan = fitting(spec, wish)
  if (plan) return extended(spec, wish, plan)
  throw tooLarge(name, spec, wish)
}

/** The same plan with room for longer conversations, if there is memory for them. */
function extended(spec: DecoderSpec, wish: Wish, plan: MemoryPlan): MemoryPlan {
  const { conversation } = wish
  if (!conversation) return plan
  const { adapter, base, slots, packs } = plan
  const same = sizes(wish, plan).filter((size) => size.slots === slots && size.packs === packs)
  const planFor = (limit: number): MemoryPlan | undefined =>
    same
      .map((size) => planOf(spec, wish, { adapter, base, ...size }, limit))
      .find(({ estimate }) => estimate.total <= wish.budget)
  let [best, above] = [plan, conversation.most + 1]
  while (above - best.conversation!.limit > 1) {
    // The most is tried first, since it often fits.
    const limit = above > conversation.most ? conversation.most : (best.conversation!.limit + above) >> 1
    const longer = planFor(limit)
    if (longer) best = longer
    else above = limit
  }
  return best
}

/** Whether a node with this plan has the memory to start learning from peers. */
export function hasRoomToMix({ mixes, estimate, budget }: MemoryPlan): boolean {
  return mixes || estimate.total + MIXING * estimate.gradients <= budget
}

function fitting(spec: DecoderSpec, wish: Wish): MemoryPlan | undefined {
  for (const way of waysOf(wish)) {
    for (const size of sizes(wish, way)) {
      const isLittle = size.microBatchTokens < ENOUGH.microBatchTokens || size.slots < ENOUGH.slots
      if (way.wantsEnough && isLittle) continue
      const plan = planOf(spec, wish, { ...way, ...size })
      if (plan.estimate.total <= wish.budget) return plan
    }
  }
  return undefined
}

interface Way extends Pick<MemoryPlan, 'adapter' | 'base'> {
  /** Choose this way only if a fair amount of work fits as well. */
  wantsEnough?: boolean
}

/** How frozen weights can be kept, best first. */
function waysOf({ method, adapter, base }: Wish): Way[] {
  const { asked, bytes } = base ?? { asked: 'f32', bytes: () => 0 }
  if (method === 'full') return [{ adapter: undefined, base: 'f32' }]
  if (asked !== 'auto') return [{ adapter, base: asked }]
  if (bytes('file').all >= bytes('f32').all) return [{ adapter, base: 'f32' }]
  return [
    { adapter, base: 'f32', wantsEnough: true },
    { adapter, base: 'file' },
  ]
}

type Size = Pick<MemoryPlan, 'microBatchTokens' | 'checkpointing' | 'slots' | 'packs'>

/** Fastest first. */
function sizes({ microBatchTokens, isOnProcessor, base }: Wish, { base: precision }: Way): Size[] {
  const usual = [...MICRO_BATCHES.keys()].filter((size) => !isOnProcessor || size <= LARGEST_ON_PROCESSOR)
  const batches = microBatchTokens > 0 ? [microBatchTokens] : usual
  const hasBlocks = precision !== 'f32' && (base?.bytes(precision).blocks ?? 0) > 0
  const all = (hasBlocks ? [true, false] : [true]).flatMap((packs) =>
    [false, true].flatMap((checkpointing) =>
      batches.flatMap((tokens) =>
        SLOTS.map((slots) => ({ microBatchTokens: tokens, checkpointing, slots, packs })),
      ),
    ),
  )
  return all.sort((a, b) => slowness(a) - slowness(b) || b.microBatchTokens - a.microBatchTokens)
}

/**
 * The binary logarithm of the time that work of this size takes. Recomputing activations costs a third more time.
 * Without packed blocks, sampling takes three times as long or more.
 */
export function slowness({ microBatchTokens, checkpointing, slots, packs }: Size): number {
  const ofBatches = MICRO_BATCHES.get(microBatchTokens) ?? 0
  return ofBatches + (checkpointing ? 0.5 : 0) + (packs ? 0 : 3) - Math.log2(slots)
}

function planOf(
  spec: DecoderSpec,
  { work: asked, budget, base, conversation }: Wish,
  chosen: Size & Way,
  limit = conversation?.least ?? 0,
): MemoryPlan {
  const { adapter, base: precision, wantsEnough: _, ...size } = chosen
  const work = {
    ...asked,
    prompt: Math.max(asked.prompt, limit - asked.completion),
    hasConversations: conversation !== undefined,
  }
  const bytes = precision === 'f32' ? undefined : base?.bytes(precision)
  const estimate = estimateMemory(withAdapter(spec, adapter), { ...work, ...size, baseBytes: bytes })
  return {
    ...{ adapter, base: precision, ...size, budget, mixes: work.mixes, estimate },
    returnsMemory: estimate.activations > MUCH,
    ...(conversation && { conversation: { limit, context: conversation.context } }),
  }
}

function tooLarge(name: string, spec: DecoderSpec, wish: Wish): WaggleError {
  const least = smallest(spec, wish)
  const { total, ...parts } = least.estimate
  const largest = Object.entries(parts)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 4)
    .map(([part, size]) => `${part} ${bytes(size)}`)
  return new WaggleError(
    'E_MODEL',
    `${name} does not fit: training ${least.adapter ? `LoRA of rank ${least.adapter.rank}` : 'all parameters'} takes ${bytes(total)} at least (${largest.join(', ')}), ${bytes(wish.budget)} may be used`,
    {
      hint: `${nearest(spec, wish, total)} See \`waggle doctor\`.`,
      data: { needed: total, budget: wish.budget, parts },
    },
  )
}

function smallest(spec: DecoderSpec, wish: Wish): MemoryPlan {
  const way = waysOf(wish).at(-1)!
  return planOf(spec, wish, { ...way, ...sizes(wish, way).at(-1)! })
}

/** The smallest change of the settings that makes the model fit. */
function nearest(spec: DecoderSpec, wish: Wish, needed: number): string {
  const { work } = wish
  const changes: [string, Wish][] = []
  if (wish.microBatchTokens > 0)
    changes.push(['engine.micro_batch_tokens = 0', { ...wish, microBatchTokens: 0 }])
  if (wish.method === 'full')
    changes.push(['training.method = "lora"', { ...wish, method: 'lora', microBatchTokens: 0 }])
  if (work.teachers)
    changes.push([
      `no model as a teacher (${bytes(work.teachers)})`,
      { ...wish, work: { ...work, teachers: 0 } },
    ])
  const { base, conversation } = wish
  for (let served = (work.served ?? 0) >> 1; served >= 1; served >>= 1)
    changes.push([`serve.max_calls = ${served}`, { ...wish, work: { ...work, served } }])
  for (let limit = (conversation?.least ?? 0) >> 1; limit >= 256; limit >>= 1)
    changes.push([
      `agents.max_tokens = ${limit}`,
      { ...wish, conversation: { ...conversation!, least: limit, most: limit } },
    ])
  if (base && (base.asked === 'auto' || base.asked === 'f32'))
    for (const asked of ['q8', 'q4'] as const) {
      const smaller: Wish = { ...wish, method: 'lora', microBatchTokens: 0, base: { ...base, asked } }
      const method = wish.method === 'full' ? ' with training.method = "lora"' : ''
      changes.push([`engine.base_precision = "${asked}"${method}`, smaller])
    }
  for (let completion = work.completion >> 1; completion >= 16; completion >>= 1) {
    const shorter: Wish = { ...wish, work: { ...work, completion }, microBatchTokens: 0 }
    changes.push([`model.max_completion_tokens = ${completion}`, shorter])
    if (wish.method === 'full')
      changes.push([
        `training.method = "lora" with model.max_completion_tokens = ${completion}`,
        { ...shorter, method: 'lora' },
      ])
  }
  const found = changes.find(([, changed]) => fitting(spec, changed))
  if (found) return `This would fit: ${found[0]}.`
  return `No setting makes it fit: it takes engine.memory_gb = ${Math.ceil((needed / 1e9) * 10) / 10}, or a smaller model.`
}
