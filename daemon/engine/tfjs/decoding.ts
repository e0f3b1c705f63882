// The two steps of sampling with a KV cache: prefill, with prompts padded in front so that all end together, and
// decoding one more token for each sequence. Logits are copied out of TensorFlow.js; the cache stays in it.

import type { Tensor, Tensorflow } from './backend.ts'
import { anglesOf, forward, type LayerCache, MASKED, type Model, unembed } from './decoder.ts'

/** A sequence whose next token is to be decoded. */
export interface Pending {
  /** Tokens of padding in front of the prompt. */
  padding: number
  /** The last token written. */
  readonly last: number
}

export interface Step {
  logits: Float32Array
  cache: LayerCache[]
}

/** Prefills each distinct prompt once and copies its logits and cache to every row with that prompt. */
export function prefill(model: Model, prompts: readonly Int32Array[], longest: number): Step {
  const { tf, spec } = model
  const indices = new Map<string, number>()
  const distinct: Int32Array[] = []
  const indexOf = prompts.map((prompt) => {
    const key = prompt.join(' ')
    const known = indices.get(key)
    if (known !== undefined) return known
    indices.set(key, distinct.length)
    return distinct.push(prompt) - 1
  })
  const batch = distinct.length
  const tokens = new Int32Array(batch * longest)
  const positions = new Int32Array(batch * longest)
  const bias = new Float32Array(batch * longest * longest).fill(MASKED)
  distinct.forEach((prompt, b) => {
    const padding = longest - prompt.length
    tokens.set(prompt, b * longest + padding)
    for (let i = padding; i < longest; i++) {
      positions[b * longest + i] = i - padding
      bias.fill(0, (b * longest + i) * longest + padding, (b * longest + i) * longest + i + 1)
    }
  })
  let logits = new Float32Array()
  const cache = tf.tidy(() => {
    const out = forward(model, {
      batch,
      length: longest,
      tokens: tf.tensor(tokens, [batch * longest], 'int32'),
      bias: tf.tensor(bias, [batch, 1, longest, longest]),
      angles: anglesOf(tf, spec, positions, batch),
    })
    const lasts = Int32Array.from(distinct, (_, b) => (b + 1) * longest - 1)
    const last = tf.gather(out.hidden, tf.tensor(lasts, [batch], 'int32') as never)
    const ofDistinct = unembed(model, last as Tensor).dataSync() as Float32Array
    logits = new Float32Array(prompts.length * spec.vocabulary)
    indexOf.forEach((b, at) => {
      logits.set(ofDistinct.subarray(b * spec.vocabulary, (b + 1) * spec.vocabulary), at * spec.vocabulary)
    })
    return takeRows(tf, out.cache, indexOf) as never
  }) as LayerCache[]
  return { logits, cache }
}

/** Decodes one more token for every row. The cache holds `length` tokens. */
export function next(model: Model, rows: readonly Pending[], length: number, past: LayerCache[]): Step {
  const { tf, spec } = model
  const batch = rows.length
  const bias = new Float32Array(batch * (length + 1))
  rows.forEach(({ padding }, b) => {
    bias.fill(MASKED, b * (length + 1), b * (length + 1) + padding)
  })
  const tokens = Int32Array.from(rows, ({ last }) => last)
  const out = forward(model, {
    batch,
    length: 1,
    tokens: tf.tensor(tokens, [batch], 'int32'),
    bias: tf.tensor(bias, [batch, 1, 1, length + 1]),
    past,
    angles: anglesOf(
      tf,
      spec,
      Int32Array.from(rows, ({ padding }) => length - padding),
      batch,
    ),
  })
  return { logits: unembed(model, out.hidden).dataSync() as Float32Array, cache: out.cache }
}

export function takeRows(
  tf: Tensorflow,
  cache: readonly LayerCache[],
  rows: readonly number[],
): LayerCache[] {
  const index = tf.tensor(Int32Array.from(rows), [rows.length], 'int32')
  return cache.map(({ keys, values }) => ({
    keys: tf.gather(keys, index as never) as Tensor,
    values: tf.gather(values, index as never) as Tensor,
  }))
}

export function replaced(tf: Tensorflow, old: LayerCache[], make: () => LayerCache[]): LayerCache[] {
  const made = tf.tidy(() => make() as never) as LayerCache[]
  tf.dispose(old as never)
  return made
}
