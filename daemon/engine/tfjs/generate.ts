// Sampling with TensorFlow.js: sequences are decoded side by side, in turns of `slots`, with a key/value cache that
// grows by a token a step. Prompts are padded in front, so that all sequences of a turn are at the same step; those
// that end leave the batch when half of it has.

import { WaggleError } from '../../../protocol/errors.ts'
import { draw } from '../draw.ts'
import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { uniformAt } from '../random.ts'
import type { Model } from './decoder.ts'
import { next, type Pending, prefill, replaced, takeRows } from './decoding.ts'

const DEFAULT_SLOTS = 64

interface Row extends Pending {
  sample: number
  tokens: number[]
  logprobs: number[]
  policyLogprobs: number[]
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
        policyLogprobs: Float32Array.from(row.policyLogprobs),
        entropies: Float32Array.from(row.entropies),
        finish: stopped ? 'stop' : row.ended ? 'length' : 'aborted',
      }
    }
  }
  return results
}

function decode(
  { samples, maxNewTokens, stopTokens, ...sampling }: GenerateRequest,
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
      policyLogprobs: [],
      entropies: [],
      ended: maxNewTokens === 0,
    }),
  )
  const work = new Float64Array(spec.vocabulary)
  const accept = (row: Row, logits: Float32Array, at: number): void => {
    const { seed, drawn: before = 0 } = samples[row.sample]!
    const scores = logits.subarray(at * spec.vocabulary, (at + 1) * spec.vocabulary)
    const drawn = draw(scores, sampling, uniformAt(seed, before + row.tokens.length), work)
    if (!Number.isFinite(drawn.logprob))
      throw new WaggleError('E_ENGINE', 'the policy gives logits that are not finite')
    row.tokens.push(drawn.token)
    row.logprobs.push(drawn.logprob)
    row.policyLogprobs.push(drawn.policyLogprob)
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
