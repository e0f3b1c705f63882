// A decoder-only transformer as data: everything an engine needs to build it. Optional fields have defaults, so a new
// family sets only what it does differently. The families and their config files are in `daemon/policy/architectures`.

import type { Forms } from './stored/stored.ts'

export interface DecoderSpec {
  vocabulary: number
  /** Width of the residual stream. */
  width: number
  layers: number
  /** Query heads; a multiple of `kvHeads`. */
  heads: number
  kvHeads: number
  headWidth: number
  feedForward: number
  normEpsilon: number
  /** Inverse frequencies of the rotary embedding, headWidth / 2 of them, with any scaling already applied. */
  ropeFrequencies: readonly number[]
  /** Longest sequence, prompt and completion together. */
  contextLength: number
  /** The output projection is the embedding table. */
  tiedEmbeddings: boolean
  /** Biases on the query, key and value projections (Qwen2). */
  attentionBias: boolean
  /** RMSNorm on each query and key head (Qwen3). */
  queryKeyNorm: boolean
  /** Activation of the feed-forward gate; 'silu' by default. */
  activation?: Activation
  /** Norms multiply by 1 + weight instead of by the weight (Gemma). */
  unitOffsetNorms?: boolean
  /** Also norm the outputs of attention and feed-forward before adding them to the residual stream (Gemma 2). */
  postNorms?: boolean
  /** Embeddings are multiplied by this before the first layer; 1 by default. */
  embeddingScale?: number
  /** Query-key products are multiplied by this; 1 / sqrt(headWidth) by default. */
  attentionScale?: number
  /** Attention scores become cap * tanh(score / cap) (Gemma 2). */
  attentionSoftCap?: number
  /** Logits become cap * tanh(logit / cap), before they are divided by the temperature (Gemma 2). */
  logitSoftCap?: number
  /** Layers with sliding-window attention; none by default. */
  local?: LocalLayers
  /** Low-rank adapters beside frozen matrices. Without them, every parameter is trained. */
  adapter?: AdapterSpec
  /**
   * How frozen matrices are stored in fewer than 32 bits. An engine sets it to match the weights it was opened with.
   */
  stored?: Forms
}

export type Activation = 'silu' | 'gelu-tanh'

export interface LocalLayers {
  /** Each token attends to this many tokens, itself included. */
  window: number
  /** Indices of the layers. */
  layers: readonly number[]
  /** Like `DecoderSpec.ropeFrequencies`, which is the default. Gemma 3 gives local layers their own. */
  ropeFrequencies?: readonly number[]
}

/** The attention window of a layer; undefined if the layer attends to all earlier tokens. */
export function windowOf({ local }: DecoderSpec, layer: number): number | undefined {
  return local?.layers.includes(layer) ? local.window : undefined
}

/** LoRA (Hu et al. 2021): a target's W x becomes W x + alpha / rank * B (A x), and only A and B are trained. */
export interface AdapterSpec {
  rank: number
  alpha: number
  /** The matrices of each layer that get an adapter. */
  targets: readonly AdapterTarget[]
}

/** Beside no matrix: nothing is trained, and all matrices may be quantized. */
export const NO_ADAPTER: AdapterSpec = { rank: 1, alpha: 1, targets: [] }

export const ADAPTER_TARGETS = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const
export type AdapterTarget = (typeof ADAPTER_TARGETS)[number]

/**
 * Names of the adapter matrices of `name`, such as `model.layers.0.self_attn.q_proj.weight`: PEFT's names without its
 * prefix.
 */
export function adapterNames(name: string): { a: string; b: string } {
  const stem = name.replace(/\.weight$/, '')
  return { a: `${stem}.lora_A.weight`, b: `${stem}.lora_B.weight` }
}

/** Shapes of the adapter matrices: A is [rank, in], B is [out, rank]. Empty without an adapter. */
export function adapterShapes(spec: DecoderSpec): Map<string, number[]> {
  const shapes = new Map<string, number[]>()
  const { adapter } = spec
  if (!adapter) return shapes
  const targets = new Set<string>(adapter.targets)
  for (const [name, shape] of parameterShapes(spec)) {
    if (!targets.has(/\.(\w+)\.weight$/.exec(name)?.[1] ?? '')) continue
    const { a, b } = adapterNames(name)
    shapes.set(a, [adapter.rank, shape[1]!])
    shapes.set(b, [shape[0]!, adapter.rank])
  }
  return shapes
}

/** Shapes of the trained parameters: the adapter's if there is one, otherwise all of them. */
export function trainableShapes(spec: DecoderSpec): Map<string, number[]> {
  return spec.adapter ? adapterShapes(spec) : parameterShapes(spec)
}

/** Shapes of the parameters that training does not change. */
export function frozenShapes(spec: DecoderSpec): Map<string, number[]> {
  return spec.adapter ? parameterShapes(spec) : new Map()
}

/**
 * Shapes of all parameters except the adapter's, in a fixed order. Matrices are [out, in], as in Hugging Face's files.
 */
export function parameterShapes(spec: DecoderSpec): Map<string, number[]> {
  const shapes = new Map<string, number[]>()
  const queryWidth = spec.heads * spec.headWidth
  const keyWidth = spec.kvHeads * spec.headWidth
  shapes.set('model.embed_tokens.weight', [spec.vocabulary, spec.width])
  for (let layer = 0; layer < spec.layers; layer++) {
    const at = `model.layers.${layer}`
    shapes.set(`${at}.input_layernorm.weight`, [spec.width])
    for (const [name, size] of [
      ['q', queryWidth],
      ['k', keyWidth],
      ['v', keyWidth],
    ] as const) {
      shapes.set(`${at}.self_attn.${name}_proj.weight`, [size, spec.width])
      if (spec.attentionBias) shapes.set(`${at}.self_attn.${name}_proj.bias`, [size])
    }
    if (spec.queryKeyNorm) {
      shapes.set(`${at}.self_attn.q_norm.weight`, [spec.headWidth])
      shapes.set(`${at}.self_attn.k_norm.weight`, [spec.headWidth])
    }
    shapes.set(`${at}.self_attn.o_proj.weight`, [spec.width, queryWidth])
    shapes.set(`${at}.post_attention_layernorm.weight`, [spec.width])
    if (spec.postNorms) {
      shapes.set(`${at}.pre_feedforward_layernorm.weight`, [spec.width])
      shapes.set(`${at}.post_feedforward_layernorm.weight`, [spec.width])
    }
    shapes.set(`${at}.mlp.gate_proj.weight`, [spec.feedForward, spec.width])
    shapes.set(`${at}.mlp.up_proj.weight`, [spec.feedForward, spec.width])
    shapes.set(`${at}.mlp.down_proj.weight`, [spec.width, spec.feedForward])
  }
  shapes.set('model.norm.weight', [spec.width])
  if (!spec.tiedEmbeddings) shapes.set('lm_head.weight', [spec.vocabulary, spec.width])
  return shapes
}

export function parameterCount(spec: DecoderSpec): number {
  let count = 0
  for (const shape of parameterShapes(spec).values()) count += shape.reduce((a, b) => a * b, 1)
  return count
}

/**
 * Cosines and sines of the rotary angles at the given positions, [positions, headWidth / 2] each. `isLocal` selects the
 * frequencies of the local layers.
 */
export function rotaryTables(
  { headWidth, ropeFrequencies: ofAll, local }: DecoderSpec,
  positions: ArrayLike<number>,
  isLocal = false,
): { cos: Float32Array; sin: Float32Array } {
  const ropeFrequencies = (isLocal && local?.ropeFrequencies) || ofAll
  const half = headWidth / 2
  const cos = new Float32Array(positions.length * half)
  const sin = new Float32Array(positions.length * half)
  for (let at = 0; at < positions.length; at++) {
    for (let i = 0; i < half; i++) {
      // Rounded as in PyTorch, which the models were trained with.
      const angle = Math.fround(positions[at]! * ropeFrequencies[i]!)
      cos[at * half + i] = Math.cos(angle)
      sin[at * half + i] = Math.sin(angle)
    }
  }
  return { cos, sin }
}
