// Sampling with TensorFlow.js: sequences are decoded side by side, in turns of `slots`, with a key/value cache that
// grows by a token a step. Prompts are padded in front, so that all sequences of a turn are at the same step; those
// that end leave the batch when half of it has.

import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import type { Sequence, Writer } from '../writer.ts'
import type { Model } from './decoder.ts'
import { next, type Pending, prefill, replaced, takeRows } from './decoding.ts'

const DEFAULT_SLOTS = 64

interface Row extends Pending {
  sequence: Sequence
  ended: boolean
}

export function generate(
  request: GenerateRequest,
  model: Model,
  by: { isAborted: () => boolean; write: Writer },
): Sample[] {
  checkPrompts(request, model.spec)
  const { samples, slots = DEFAULT_SLOTS } = request
  const order = samples.map((_, i) => i)
  order.sort((a, b) => samples[a]!.prompt.length - samples[b]!.prompt.length || a - b)
  const results: Sample[] = new Array(samples.length)
  while (order.length > 0) {
    for (const { sequence } of decode(request, order.splice(0, slots), model, by))
      results[sequence.sample] = sequence.finish()
  }
  return results
}

function decode(
  { samples, maxNewTokens }: GenerateRequest,
  members: readonly number[],
  model: Model,
  { isAborted, write }: { isAborted: () => boolean; write: Writer },
): Row[] {
  const { tf, spec } = model
  const promptOf = ({ sequence }: Row): Int32Array => samples[sequence.sample]!.prompt
  const longest = Math.max(...members.map((sample) => samples[sample]!.prompt.length))
  const rows = members.map((sample): Row => {
    const sequence = write(sample)
    return {
      sequence,
      padding: longest - samples[sample]!.prompt.length,
      get last() {
        return sequence.last
      },
      ended: maxNewTokens === 0,
    }
  })
  const accept = (row: Row, logits: Float32Array, at: number): void => {
    row.ended = row.sequence.accept(logits.subarray(at * spec.vocabulary, (at + 1) * spec.vocabulary))
  }

  if (isAborted() || maxNewTokens === 0) return rows
  let { logits, cache } = prefill(model, rows.map(promptOf), longest)
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
