// How much memory a node takes to sample from a model and to train it, part by part, from the model's description and
// the sizes of its work alone. The arrays of parameters are counted exactly; what a micro-batch needs is a formula whose
// constants are fitted to the measured peak of the real engine (scripts/bench/memory-plan.ts).

import { type AdapterSpec, type DecoderSpec, parameterCount, trainableShapes } from '../../engine/decoder.ts'

export interface Work {
  /** Tokens of a prompt, and of a completion at most. */
  prompt: number
  completion: number
  /** Rollouts of one prompt. */
  groupSize: number
  /** Sequences that are written side by side. */
  slots: number
  /** Tokens of a micro-batch at most; one sequence may have more. */
  microBatchTokens: number
  /** Activations are computed again for the backward pass instead of kept. */
  checkpointing: boolean
  /** Peers' gradients are kept apart from the own one. */
  mixes: boolean
  /** Models of plugins beside the policy, each as large as it is and trained as it is; none if left out. */
  roles?: number
}

export interface MemoryParts {
  /** The weights as loaded, which all engines share where they are frozen. */
  model: number
  /** What is trained, as the sampler and the trainer hold it. */
  trained: number
  gradients: number
  /** AdamW's two moments. */
  optimizer: number
  /** What training a micro-batch keeps until its backward pass is done. */
  activations: number
  /** Keys and values of the sequences being written, and what a step of the sampler needs. */
  cache: number
  /** Copies on their way to the sampler and to a checkpoint. */
  copies: number
  /** The program itself. */
  process: number
  /** Models of plugins; absent where there are none. */
  roles?: number
}

export interface MemoryEstimate extends MemoryParts {
  total: number
}

const FLOAT = 4
/** Measured; see the header. */
const FIT = {
  process: 190e6,
  /** Floats kept for each token and layer, in widths of what they hold. */
  perWidth: 7,
  perQuery: 3.5,
  perFeedForward: 3.5,
  /** Floats for each pair of a token and one that it attends to, a head. */
  perPair: 1.8,
  /** Logits that are alive at once, for so many rows at most. */
  logits: 3,
  logitRows: 512,
  /** Copies of the cache while it is read and grown. */
  cacheCopies: 2,
}
/** Prompts read in one go; see engine/onnx. */
const PREFILL_PROMPTS = 16

export function estimateMemory(spec: DecoderSpec, work: Work): MemoryEstimate {
  const { adapter, ...plain } = spec
  const trained = adapter ? count(trainableShapes(spec)) : parameterCount(plain)
  const parts: MemoryParts = {
    model: FLOAT * parameterCount(plain),
    trained: 2 * FLOAT * trained,
    gradients: FLOAT * trained * (work.mixes ? 5 : 1),
    optimizer: 2 * FLOAT * trained,
    activations: activations(spec, work),
    cache: cache(spec, work),
    copies: 4 * FLOAT * trained,
    process: FIT.process,
  }
  if (work.roles) parts.roles = work.roles * roleMemory(spec, work)
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) }
}

/** What one engine takes that both writes and trains, the weights as they were loaded left out. */
export function roleMemory(spec: DecoderSpec, work: Work): number {
  const trained = FLOAT * count(trainableShapes(spec))
  // Its own weights, gradients, two moments, and copies on their way to a checkpoint.
  return 7 * trained + activations(spec, work) + cache(spec, work)
}

/** Tokens that go through the layers in one micro-batch: one row with its prompt may be longer than it should be. */
export function tokensAtOnce({ prompt, completion, microBatchTokens }: Work): number {
  return Math.max(microBatchTokens, prompt + completion)
}

function activations(spec: DecoderSpec, work: Work): number {
  const tokens = tokensAtOnce(work)
  const { layers, vocabulary, heads } = spec
  const pairs = work.prompt + work.completion
  const perLayer = perToken(spec) + FIT.perPair * heads * pairs
  const logits = FIT.logits * Math.min(tokens, FIT.logitRows) * vocabulary
  // What each layer begins with is kept, and all of one layer at a time.
  const kept = work.checkpointing ? layers * spec.width + perLayer : layers * perLayer
  return FLOAT * (tokens * kept + logits)
}

function perToken({ width, heads, kvHeads, headWidth, feedForward, adapter }: DecoderSpec): number {
  const query = (heads + 2 * kvHeads) * headWidth
  const low = adapter ? adapter.rank * adapter.targets.length + width : 0
  return FIT.perWidth * width + FIT.perQuery * query + FIT.perFeedForward * feedForward + low
}

function cache(spec: DecoderSpec, { slots, prompt, completion }: Work): number {
  const { layers, kvHeads, headWidth, vocabulary, width, feedForward } = spec
  const kept = slots * (prompt + completion) * layers * 2 * kvHeads * headWidth
  const reading = PREFILL_PROMPTS * prompt * (4 * width + 3 * feedForward)
  return FLOAT * (FIT.cacheCopies * kept + reading + 2 * slots * vocabulary)
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
