// Estimates, part by part, the memory needed to sample from a model and to train it, given its spec and the size of the
// work. Parameter arrays are counted exactly. A micro-batch's memory is a formula fitted to the measured peak of the
// real engine (scripts/bench/models/memory-plan.ts).

import {
  type AdapterSpec,
  type DecoderSpec,
  NO_ADAPTER,
  parameterCount,
  trainableShapes,
} from '../../engine/decoder.ts'
import { KEPT_BYTES } from '../../engine/sampler.ts'
import type { BaseBytes } from '../files/base-weights.ts'

export interface Work {
  /** Most tokens of a prompt and of a completion. */
  prompt: number
  completion: number
  /** Sequences decoded side by side. */
  slots: number
  /** Most tokens of a micro-batch. A single sequence may have more. */
  microBatchTokens: number
  /** Recompute activations in the backward pass instead of keeping them. */
  checkpointing: boolean
  /** Keep a separate gradient for peers' groups. */
  mixes: boolean
  /** Bytes of the frozen weights, if they are not all F32. */
  baseBytes?: BaseBytes | undefined
  /** The sampler keeps a packed copy of quantized blocks; true by default. */
  packs?: boolean
  /** There are conversations of agents or environments, whose keys and values the sampler keeps between turns. */
  hasConversations?: boolean
  /** Sequences decoded besides `slots`, for people who wait; 0 by default. */
  served?: number
  /** Teachers write answers in the trainer while the sampler keeps its cache. */
  teachersWrite?: boolean
  /** Bytes of models that only teach, their weights and engines; 0 by default. */
  teachers?: number
  /** Number of plugin models, each as large as the policy and trained like it; 0 by default. */
  roles?: number
}

interface MemoryParts {
  /** The weights as loaded, shared by the engines if frozen, and the sampler's packed copy of quantized blocks. */
  model: number
  /** The sampler's and the trainer's copies of the trained parameters. */
  trained: number
  gradients: number
  /** AdamW's two moments. */
  optimizer: number
  /** Activations kept until the backward pass of a micro-batch has finished. */
  activations: number
  /** The KV cache of the sampler, and of teachers that write; what it keeps of conversations, and the memory for one of its steps. */
  cache: number
  /** Copies on their way to the sampler and to a checkpoint. */
  copies: number
  /** The program itself. */
  process: number
  /** Models of plugins. Absent if there are none. */
  roles?: number
  /** Models that only teach. Absent if there are none. */
  teachers?: number
}

export interface MemoryEstimate extends MemoryParts {
  total: number
}

const FLOAT = 4
/** How the engine of a teacher works. It has no backward pass, so that short parts of the head cost it no time. */
export const TEACHER_ENGINE = { microBatchTokens: 512, checkpointing: true, slots: 8 } as const
/** Extra arrays of a gradient's size that a separate gradient for peers' groups needs. */
export const MIXING = 4
/** Measured; see the header. */
const FIT = {
  process: 190e6,
  /** Floats per token and layer, for each unit of width, of q, k and v width, and of feed-forward width. */
  perWidth: 7,
  perQuery: 3.5,
  perFeedForward: 3.5,
  /** Of these, what a micro-batch of few tokens takes: its engine returns memory as soon as it is free; see engine/onnx/core.ts. */
  short: { tokens: 512, share: 0.85 },
  /** Copies of the keys and values of prompts while they are read. */
  readCopies: 2,
  /** Floats per head for each pair of a token and a token that it attends to. */
  perPair: 1.8,
  /** Most bytes of scores that are computed at once, and arrays of a part's; see engine/onnx/decoder/parts.ts. */
  scoreBytes: 134e6,
  scores: 10,
  /** The shortest prompt or answer that is always computed in parts there, and arrays of results that each layer then keeps. */
  inParts: { tokens: 1536, arrays: 2 },
  /** Arrays of logits alive at once, and the most rows and bytes of each; see engine/onnx/decoder/head.ts. */
  logits: 3,
  logitRows: 512,
  logitBytes: { usual: 168e6, checkpointing: 67e6 },
  /** F32 tiles of quantized matrices in each engine that has no packed copy; see engine/onnx/ops/matrices.ts. */
  tiles: 67e6,
  /** Bytes of the sampler's packed copy per byte of blocks. */
  packed: 1.1,
}
/** Prompts read at once, and prompts whose keys and values are kept beside the cache; see engine/decoding. */
const PROMPTS_AT_ONCE = 16
const PROMPTS_KEPT = 8

export function estimateMemory(spec: DecoderSpec, work: Work): MemoryEstimate {
  const { adapter, ...plain } = spec
  const trained = adapter ? count(trainableShapes(spec)) : parameterCount(plain)
  const parts: MemoryParts = {
    model: work.baseBytes ? baseMemory(work.baseBytes, work.packs) : FLOAT * parameterCount(plain),
    trained: 2 * FLOAT * trained,
    gradients: FLOAT * trained * (work.mixes ? 1 + MIXING : 1),
    optimizer: 2 * FLOAT * trained,
    activations: activations(spec, work),
    cache:
      cache(spec, work) +
      (work.teachersWrite ? cache(spec, { ...work, served: 0 }) : 0) +
      (work.hasConversations ? KEPT_BYTES : 0),
    copies: 4 * FLOAT * trained,
    process: FIT.process,
  }
  if (work.roles) parts.roles = work.roles * roleMemory(spec, work)
  if (work.teachers) parts.teachers = work.teachers
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) }
}

function baseMemory({ all, blocks }: BaseBytes, packs = true): number {
  return all + FIT.tiles + (packs ? FIT.packed * blocks : FIT.tiles)
}

/** Memory of one engine that both samples and trains, not counting the loaded weights. */
export function roleMemory(spec: DecoderSpec, work: Work): number {
  const trained = FLOAT * count(trainableShapes(spec))
  // Its own weights, gradients, two moments, and copies on their way to a checkpoint.
  return 7 * trained + activations(spec, work) + cache(spec, { ...work, served: 0 })
}

/** Memory of a frozen model that scores answers and writes some, with its weights; see `TEACHER_ENGINE`. */
export function teacherMemory(
  spec: DecoderSpec,
  { base, prompt, completion }: Pick<Work, 'prompt' | 'completion'> & { base: BaseBytes },
): number {
  const frozen = withAdapter(spec, NO_ADAPTER)
  const work: Work = { ...TEACHER_ENGINE, prompt, completion, mixes: false }
  return baseMemory(base) + activations(frozen, work) + cache(frozen, work)
}

/** Memory of one more engine that only samples, not counting the loaded weights. */
export function samplerMemory(spec: DecoderSpec, work: Work): number {
  return FIT.process + 3 * FLOAT * count(trainableShapes(spec)) + cache(spec, work)
}

/** Most tokens that go through the layers in one micro-batch. A single row with its prompt may exceed the limit. */
function tokensAtOnce({ prompt, completion, microBatchTokens }: Work): number {
  return Math.max(microBatchTokens, prompt + completion)
}

function activations(spec: DecoderSpec, work: Work): number {
  const tokens = tokensAtOnce(work)
  const { layers, vocabulary, heads, headWidth } = spec
  const pairs = heads * (work.prompt + work.completion)
  const mode = work.checkpointing ? 'checkpointing' : 'usual'
  const most = FIT.logitBytes[mode]
  const logits = FIT.logits * Math.min(FLOAT * Math.min(tokens, FIT.logitRows) * vocabulary, most)
  // Scores that are computed in parts are not kept.
  const all = FLOAT * tokens * pairs
  const isCut = all > FIT.scoreBytes
  const isShort = !work.checkpointing && work.microBatchTokens <= FIT.short.tokens
  const share = isShort ? FIT.short.share : 1
  const perLayer = share * (perToken(spec) + (isCut ? 0 : FIT.perPair * pairs))
  const parts = 2 ** Math.ceil(Math.log2(all / FIT.scoreBytes))
  const scores = isCut ? (FIT.scores * all) / parts : 0
  // With checkpointing, only the inputs of all layers are kept, and everything of one layer at a time.
  const isInParts = isCut || Math.max(work.prompt, work.completion) >= FIT.inParts.tokens
  const results = isInParts ? FIT.inParts.arrays * heads * headWidth : 0
  const kept = work.checkpointing ? layers * (spec.width + results) + perLayer : layers * perLayer
  return FLOAT * tokens * kept + logits + scores
}

function perToken({ width, heads, kvHeads, headWidth, feedForward, adapter }: DecoderSpec): number {
  const query = (heads + 2 * kvHeads) * headWidth
  const low = adapter ? adapter.rank * adapter.targets.length + width : 0
  return FIT.perWidth * width + FIT.perQuery * query + FIT.perFeedForward * feedForward + low
}

function cache(spec: DecoderSpec, work: Work): number {
  const { prompt, completion, microBatchTokens } = work
  const { layers, kvHeads, headWidth, vocabulary, width, feedForward } = spec
  const slots = work.slots + (work.served ?? 0)
  const perToken = layers * 2 * kvHeads * headWidth
  const read = Math.max(prompt, Math.min(PROMPTS_AT_ONCE * prompt, microBatchTokens))
  // Those of conversations are counted by KEPT_BYTES.
  const prompts = work.hasConversations
    ? 0
    : Math.max(prompt, Math.min(PROMPTS_KEPT * prompt, microBatchTokens))
  const kept = (slots * (prompt + completion) + prompts + FIT.readCopies * read) * perToken
  const reading = read * (4 * width + 3 * feedForward)
  return FLOAT * (kept + reading + 2 * slots * vocabulary)
}

function count(shapes: ReadonlyMap<string, readonly number[]>): number {
  let sum = 0
  for (const shape of shapes.values()) sum += shape.reduce((a, b) => a * b, 1)
  return sum
}

export function withAdapter(spec: DecoderSpec, adapter: AdapterSpec | undefined): DecoderSpec {
  const { adapter: _, ...plain } = spec
  return adapter ? { ...plain, adapter } : plain
}
