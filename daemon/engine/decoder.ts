// What a decoder-only transformer is, as data: enough for an engine to build it, and no more. Which family a model
// belongs to, and what its files call things, is the policy's business (`daemon/policy/architectures`).

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
  /** Inverse frequencies of the rotary embedding, headWidth / 2 of them, any scaling already applied. */
  ropeFrequencies: readonly number[]
  /** Longest sequence, prompt and completion together. */
  contextLength: number
  /** The output projection is the embedding table. */
  tiedEmbeddings: boolean
  /** Biases on the query, key and value projections (Qwen2). */
  attentionBias: boolean
  /** RMSNorm on each query and key head (Qwen3). */
  queryKeyNorm: boolean
  /** Low-rank adapters beside frozen matrices. Without it, every parameter is trained. */
  adapter?: AdapterSpec
}

/** LoRA (Hu et al. 2021): a target's W x becomes W x + alpha / rank * B (A x), and only A and B are trained. */
export interface AdapterSpec {
  rank: number
  alpha: number
  /** Matrices of each layer that have one. */
  targets: readonly AdapterTarget[]
}

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

export type Weights = Record<string, Float32Array>

/** Names of the two matrices beside `name`, such as `model.layers.0.self_attn.q_proj.weight`; PEFT's own, less its prefix. */
export function adapterNames(name: string): { a: string; b: string } {
  const stem = name.replace(/\.weight$/, '')
  return { a: `${stem}.lora_A.weight`, b: `${stem}.lora_B.weight` }
}

/** Shapes of the adapters' matrices: A is [rank, in], B is [out, rank]. Empty without an adapter. */
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

/** What training changes: the adapters if there are any, else everything. */
export function trainableShapes(spec: DecoderSpec): Map<string, number[]> {
  return spec.adapter ? adapterShapes(spec) : parameterShapes(spec)
}

/** What training leaves as it is. */
export function frozenShapes(spec: DecoderSpec): Map<string, number[]> {
  return spec.adapter ? parameterShapes(spec) : new Map()
}

/** Every parameter of the model itself with its shape, in a fixed order. Matrices are [out, in], as Hugging Face stores them. */
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

/** Cosines and sines of the angles at given positions, each [positions, headWidth / 2]. */
export function rotaryTables(
  { headWidth, ropeFrequencies }: DecoderSpec,
  positions: ArrayLike<number>,
): { cos: Float32Array; sin: Float32Array } {
  const half = headWidth / 2
  const cos = new Float32Array(positions.length * half)
  const sin = new Float32Array(positions.length * half)
  for (let at = 0; at < positions.length; at++) {
    for (let i = 0; i < half; i++) {
      // Rounded as in the PyTorch code with which models are trained.
      const angle = Math.fround(positions[at]! * ropeFrequencies[i]!)
      cos[at * half + i] = Math.cos(angle)
      sin[at * half + i] = Math.sin(angle)
    }
  }
  return { cos, sin }
}
