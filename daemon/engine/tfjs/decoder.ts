// A decoder in TensorFlow.js operations, written the way papers state it: no shared prefixes, no fused operations, and
// TensorFlow's own gradient rules. This is why the other engine can be tested against it.

import { adapterNames, type DecoderSpec, rotaryTables, windowOf } from '../decoder.ts'
import { MASKED } from '../decoding/cache-mask.ts'
import type { Tensor, Tensorflow } from './backend.ts'

export interface Model {
  tf: Tensorflow
  spec: DecoderSpec
  /** All parameters by name, including the adapters'. */
  parameters: Readonly<Record<string, Tensor>>
  /** The trained parameters, in the order of `trainableShapes`. */
  trained: Readonly<Record<string, Tensor>>
}

/** Keys and values of one layer, [batch, kvHeads, tokens, headWidth] each. */
export interface LayerCache {
  keys: Tensor
  values: Tensor
}

/** Cosines and sines, [batch, length, 1, headWidth / 2] each. */
interface Angles {
  cos: Tensor
  sin: Tensor
}

interface DecoderInput {
  batch: number
  /** Tokens in each row, padding included. */
  length: number
  /** int32 [batch * length]. */
  tokens: Tensor
  /** Rotary angles at each token's position, for local layers and for the others. */
  angles: { full: Angles; local: Angles }
  /** [batch or 1, 1, length, past + length]: 0 where a token may attend, a large negative number elsewhere. */
  bias: Tensor
  /** The same for layers with a sliding window; by default, a key's distance is the number of keys between. */
  localBias?: Tensor | undefined
  /** Keys and values of earlier tokens, by layer. */
  past?: readonly LayerCache[]
}

/** Each of `length` tokens attends to itself and those before it. */
export function causalBias(tf: Tensorflow, length: number): Tensor {
  const bias = new Float32Array(length * length)
  for (let i = 0; i < length; i++) bias.fill(MASKED, i * length + i + 1, (i + 1) * length)
  return tf.tensor(bias, [1, 1, length, length])
}

/** The rotary angles of `positions` [batch * length]. */
export function anglesOf(
  tf: Tensorflow,
  spec: DecoderSpec,
  positions: Int32Array,
  batch: number,
): DecoderInput['angles'] {
  const shape: [number, number, number, number] = [batch, positions.length / batch, 1, spec.headWidth / 2]
  const make = (isLocal: boolean): Angles => {
    const { cos, sin } = rotaryTables(spec, positions, isLocal)
    return { cos: tf.tensor(cos, shape), sin: tf.tensor(sin, shape) }
  }
  const full = make(false)
  return { full, local: spec.local?.ropeFrequencies ? make(true) : full }
}

/** The bias, with those keys also masked that are `window` or more tokens before the query. */
function withinWindow(tf: Tensorflow, bias: Tensor, length: number, window: number): Tensor {
  const seen = bias.shape[3]!
  const far = Float32Array.from({ length: length * seen }, (_, at) => {
    const [query, key] = [seen - length + Math.floor(at / seen), at % seen]
    return query - key < window ? 0 : MASKED
  })
  return tf.add(bias, tf.tensor(far, [1, 1, length, seen]))
}

/** The final residual stream [batch * length, width], and the new tokens' keys and values of every layer. */
export function forward(model: Model, input: DecoderInput): { hidden: Tensor; cache: LayerCache[] } {
  const { tf, spec, parameters } = model
  const cache: LayerCache[] = []
  const { local } = spec
  const near = local && {
    ...input,
    angles: { ...input.angles, full: input.angles.local },
    bias: input.localBias ?? withinWindow(tf, input.bias, input.length, local.window),
  }
  let x = gatherRows(tf, parameters['model.embed_tokens.weight']!, input.tokens)
  if (spec.embeddingScale !== undefined) x = tf.mul(x, spec.embeddingScale)
  for (let layer = 0; layer < spec.layers; layer++) {
    const of = (name: string): Tensor => parameters[`model.layers.${layer}.${name}.weight`]!
    const reading = windowOf(spec, layer) === undefined ? input : near!
    const attended = attention(model, layer, norm(tf, spec, x, of('input_layernorm')), reading)
    cache.push(attended.cache)
    const mixed = project(model, layer, 'self_attn.o_proj', attended.context)
    // With post-norms, `post_attention_layernorm` norms the output of attention; otherwise the input of feed-forward.
    x = tf.add(x, spec.postNorms ? norm(tf, spec, mixed, of('post_attention_layernorm')) : mixed)
    const inputNorm = spec.postNorms ? 'pre_feedforward_layernorm' : 'post_attention_layernorm'
    const normed = norm(tf, spec, x, of(inputNorm))
    const gate = project(model, layer, 'mlp.gate_proj', normed)
    const up = project(model, layer, 'mlp.up_proj', normed)
    const active = spec.activation === 'gelu-tanh' ? gelu(tf, gate) : tf.mul(gate, tf.sigmoid(gate))
    const out = project(model, layer, 'mlp.down_proj', tf.mul(active, up))
    x = tf.add(x, spec.postNorms ? norm(tf, spec, out, of('post_feedforward_layernorm')) : out)
  }
  return { hidden: x, cache }
}

/** Logits [N, vocabulary] from rows of the residual stream [N, width]. */
export function unembed(model: Model, hidden: Tensor): Tensor {
  return logitsOf(model, finalNorm(model, hidden))
}

/** The input of the output layer, [N, width], from rows of the residual stream. */
export function finalNorm({ tf, spec, parameters }: Model, hidden: Tensor): Tensor {
  return norm(tf, spec, hidden, parameters['model.norm.weight']!)
}

export function logitsOf({ tf, spec, parameters }: Model, normed: Tensor): Tensor {
  const table = parameters[spec.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight']!
  return softCap(tf, linear(tf, normed, table), spec.logitSoftCap)
}

/** Applies a layer's matrix to x, with its bias and its adapter if it has them. */
function project({ tf, spec, parameters }: Model, layer: number, name: string, x: Tensor): Tensor {
  const at = `model.layers.${layer}.${name}`
  const plain = linear(tf, x, parameters[`${at}.weight`]!, parameters[`${at}.bias`])
  const { a, b } = adapterNames(`${at}.weight`)
  const [down, up] = [parameters[a], parameters[b]]
  if (!spec.adapter || !down || !up) return plain
  return tf.add(plain, tf.mul(linear(tf, linear(tf, x, down), up), spec.adapter.alpha / spec.adapter.rank))
}

function attention(
  model: Model,
  layer: number,
  x: Tensor,
  { batch, length, angles, bias, past }: DecoderInput,
): { context: Tensor; cache: LayerCache } {
  const { tf, spec, parameters } = model
  const { heads, kvHeads, headWidth } = spec
  const at = `model.layers.${layer}.self_attn`
  /** [batch, count, length, headWidth] */
  const byHead = (which: 'q' | 'k' | 'v', count: number): Tensor => {
    const flat = project(model, layer, `self_attn.${which}_proj`, x)
    let out: Tensor = tf.reshape(flat, [batch, length, count, headWidth])
    if (which !== 'v') {
      if (spec.queryKeyNorm) out = norm(tf, spec, out, parameters[`${at}.${which}_norm.weight`]!)
      out = rotate(tf, out, angles.full.cos, angles.full.sin)
    }
    return tf.transpose(out, [0, 2, 1, 3])
  }
  const queries = byHead('q', heads)
  const join = (before: Tensor | undefined, now: Tensor): Tensor =>
    before ? tf.concat([before, now], 2) : now
  const fresh: LayerCache = { keys: byHead('k', kvHeads), values: byHead('v', kvHeads) }
  const keys = join(past?.[layer]?.keys, fresh.keys)
  const values = join(past?.[layer]?.values, fresh.values)
  const seen = keys.shape[2]!
  // Query heads that share a key/value head are adjacent, so together they form one matrix with more rows.
  const grouped = tf.reshape(queries, [batch, kvHeads, (heads / kvHeads) * length, headWidth])
  const products = tf.mul(tf.matMul(grouped, keys, false, true), spec.attentionScale ?? headWidth ** -0.5)
  const scores = softCap(tf, products, spec.attentionSoftCap)
  const weights = tf.softmax(tf.add(tf.reshape(scores, [batch, heads, length, seen]), bias))
  const mixed = tf.matMul(tf.reshape(weights, [batch, kvHeads, (heads / kvHeads) * length, seen]), values)
  const byToken = tf.transpose(tf.reshape(mixed, [batch, heads, length, headWidth]), [0, 2, 1, 3])
  return { context: tf.reshape(byToken, [batch * length, heads * headWidth]), cache: fresh }
}

/** x Wᵀ + b; W is [out, in]. */
function linear(tf: Tensorflow, x: Tensor, weight: Tensor, bias?: Tensor): Tensor {
  // The WebAssembly backend's fast matmul takes no transposed operand. With an explicit transpose sampling is three
  // times as fast.
  const product: Tensor =
    tf.getBackend() === 'wasm' ? tf.matMul(x, tf.transpose(weight)) : tf.matMul(x, weight, false, true)
  return bias ? tf.add(product, bias) : product
}

/** Root-mean-square norm over the last axis, times a weight. Zhang & Sennrich 2019. */
function norm(
  tf: Tensorflow,
  { normEpsilon, unitOffsetNorms }: DecoderSpec,
  x: Tensor,
  weight: Tensor,
): Tensor {
  const inverse = tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), normEpsilon))
  return tf.mul(tf.mul(x, inverse), unitOffsetNorms ? tf.add(weight, 1) : weight)
}

/** GELU with the tanh approximation. Hendrycks & Gimpel 2016. */
function gelu(tf: Tensorflow, x: Tensor): Tensor {
  const cube = tf.mul(tf.mul(x, x), x)
  const inner = tf.mul(tf.add(x, tf.mul(cube, 0.044715)), Math.sqrt(2 / Math.PI))
  return tf.mul(tf.mul(x, 0.5), tf.add(tf.tanh(inner), 1))
}

/** cap * tanh(x / cap); x itself without a cap. */
function softCap(tf: Tensorflow, x: Tensor, cap: number | undefined): Tensor {
  return cap === undefined ? x : tf.mul(tf.tanh(tf.div(x, cap)), cap)
}

/**
 * Rotary position embedding of [batch, length, heads, headWidth]. Pairs element i of a head with i + headWidth / 2. Su
 * et al. 2021.
 */
function rotate(tf: Tensorflow, x: Tensor, cos: Tensor, sin: Tensor): Tensor {
  const [a, b] = tf.split(x, 2, -1) as [Tensor, Tensor]
  return tf.concat([tf.sub(tf.mul(a, cos), tf.mul(b, sin)), tf.add(tf.mul(b, cos), tf.mul(a, sin))], -1)
}

/**
 * Rows of a matrix, with a gradient that scatters. The built-in gradient passes over everything once for each row of
 * the table, and the WebAssembly backend has none.
 */
export function gatherRows(tf: Tensorflow, table: Tensor, rows: Tensor): Tensor {
  const shape = table.shape as [number, number]
  const gather = tf.customGrad((source, save) => {
    const [from, keep] = [source as Tensor, save as (tensors: Tensor[]) => void]
    keep([rows])
    return {
      value: tf.gather(from, rows as never),
      gradFunc: (dy: Tensor, saved: Tensor[]) =>
        tf.scatterND(tf.reshape(saved[0]!, [-1, 1]), dy, shape as never) as Tensor,
    }
  })
  return gather(table)
}
