// Sampling with TensorFlow.js: sequences are decoded side by side, in turns of `slots`, with a key/value cache that
// grows by a token a step. Prompts are padded in front, so that all sequences of a turn are at the same step; those
// that end leave the batch when half of it has.

import { WaggleError } from '../../../protocol/errors.ts'
import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { draw, uniformAt } from '../random.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { forward, type LayerCache, MASKED, type Model, rotaryOf, unembed } from './decoder.ts'

const DEFAULT_SLOTS = 64

interface Row {
  sample: number
  /** Tokens of padding in front of the prompt. */
  padding: number
  tokens: number[]
  logprobs: number[]
  entropies: number[]
  ended: boolean
}

export function generate(request: GenerateRequest, model: Model, isAborted: () => boolean): Sample[] {
  checkPrompts(request, model.spec)
  const { samples, slots = DEFAULT_SLOTS } = request
  const order = samples.map((_, i) => i)
  order.sort((a, b) => samples[a]!.prompt.length - samples[b]!.prompt.length || a - b)
  const results: Sample[] = new Array(samples.length)
  while (order.length > 0) {
    for (const row of decode(request, order.splice(0, slots), model, isAborted)) {
      const stopped = request.stopTokens.includes(row.tokens.at(-1) ?? -1)
      results[row.sample] = {
        tokens: Int32Array.from(row.tokens),
        logprobs: Float32Array.from(row.logprobs),
        entropies: Float32Array.from(row.entropies),
        finish: stopped ? 'stop' : row.ended ? 'length' : 'aborted',
      }
    }
  }
  return results
}

function decode(
  { samples, maxNewTokens, temperature, stopTokens }: GenerateRequest,
  members: readonly number[],
  model: Model,
  isAborted: () => boolean,
): Row[] {
  const { tf, spec } = model
  const longest = Math.max(...members.map((sample) => samples[sample]!.prompt.length))
  const rows = members.map(
    (sample): Row => ({
      sample,
      padding: longest - samples[sample]!.prompt.length,
      tokens: [],
      logprobs: [],
      entropies: [],
      ended: maxNewTokens === 0,
    }),
  )
  const work = new Float64Array(spec.vocabulary)
  const accept = (row: Row, logits: Float32Array, at: number): void => {
    const u = uniformAt(samples[row.sample]!.seed, row.tokens.length)
    const drawn = draw(logits, at * spec.vocabulary, spec.vocabulary, temperature, u, work)
    if (!Number.isFinite(drawn.logprob))
      throw new WaggleError('E_ENGINE', 'the policy gives logits that are not finite')
    row.tokens.push(drawn.token)
    row.logprobs.push(drawn.logprob)
    row.entropies.push(drawn.entropy)
    row.ended = stopTokens.includes(drawn.token) || row.tokens.length >= maxNewTokens
  }

  if (isAborted() || maxNewTokens === 0) return rows
  const prompts = rows.map(({ sample }) => samples[sample]!.prompt)
  let { logits, cache } = prefill(model, prompts, longest)
  let live = rows
  try {
    live.forEach((row, at) => {
      accept(row, logits, at)
    })
    for (let length = longest; live.some((row) => !row.ended) && !isAborted(); length++) {
      const going = live.filter((row) => !row.ended).length
      if (going <= live.length / 2) {
        const kept = live.flatMap((row, at) => (row.ended ? [] : [at]))
        cache = replaced(tf, cache, () => takeRows(tf, cache, kept))
        live = kept.map((at) => live[at]!)
      }
      cache = replaced(tf, cache, () => {
        const step = next(model, live, length, cache)
        logits = step.logits
        return step.cache
      })
      live.forEach((row, at) => {
        if (!row.ended) accept(row, logits, at)
      })
    }
  } finally {
    tf.dispose(cache as never)
  }
  return rows
}

interface Step {
  logits: Float32Array
  cache: LayerCache[]
}

/** Reads each distinct prompt once; gives the logits after it and its cache to every row that has it. */
function prefill(model: Model, prompts: readonly Int32Array[], longest: number): Step {
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
      ...rotaryOf(tf, spec, positions, batch),
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

/** One more token of every row; `length` tokens are in the cache. */
function next(model: Model, rows: readonly Row[], length: number, past: LayerCache[]): Step {
  const { tf, spec } = model
  const batch = rows.length
  const bias = new Float32Array(batch * (length + 1))
  rows.forEach(({ padding }, b) => {
    bias.fill(MASKED, b * (length + 1), b * (length + 1) + padding)
  })
  const tokens = Int32Array.from(rows, (row) => row.tokens.at(-1)!)
  const out = forward(model, {
    batch,
    length: 1,
    tokens: tf.tensor(tokens, [batch], 'int32'),
    bias: tf.tensor(bias, [batch, 1, 1, length + 1]),
    past,
    ...rotaryOf(
      tf,
      spec,
      Int32Array.from(rows, ({ padding }) => length - padding),
      batch,
    ),
  })
  return { logits: unembed(model, out.hidden).dataSync() as Float32Array, cache: out.cache }
}

function takeRows(tf: Tensorflow, cache: readonly LayerCache[], rows: readonly number[]): LayerCache[] {
  const index = tf.tensor(Int32Array.from(rows), [rows.length], 'int32')
  return cache.map(({ keys, values }) => ({
    keys: tf.gather(keys, index as never) as Tensor,
    values: tf.gather(values, index as never) as Tensor,
  }))
}

function replaced(tf: Tensorflow, old: LayerCache[], make: () => LayerCache[]): LayerCache[] {
  const made = tf.tidy(() => make() as never) as LayerCache[]
  tf.dispose(old as never)
  return made
}
