// Sampling with TensorFlow.js: `slots` sequences at a time are decoded side by side, with a KV cache that grows by one
// token per step. Prompts are padded in front, so that all sequences of a turn are at the same step. Sequences that
// have ended leave the batch once they make up half of it.

import type { Decoding, Steering } from '../core.ts'
import type { GenerateRequest, Sample } from '../engine.ts'
import { checkPrompts } from '../inputs.ts'
import { createEndings, type Endings } from '../sampling/endings.ts'
import type { Sequence, Writer } from '../sampling/writer.ts'
import type { Model } from './decoder.ts'
import { next, type Pending, prefill, replaced, takeRows } from './decoding.ts'

const DEFAULT_SLOTS = 64

interface Row extends Pending {
  sequence: Sequence
}

export async function generate(
  request: GenerateRequest,
  /** The current model: weights may change between steps. */
  model: () => Model,
  parts: { steering: Steering; write: Writer } & Pick<Decoding, 'takeWeights'>,
): Promise<Sample[]> {
  checkPrompts(request, model().spec)
  const { samples, slots = DEFAULT_SLOTS } = request
  const order = samples.map((_, i) => i)
  order.sort((a, b) => samples[a]!.prompt.length - samples[b]!.prompt.length || a - b)
  const endings = createEndings(samples.length, parts)
  if (request.maxNewTokens > 0)
    while (order.length > 0 && !endings.isAborted()) {
      endings.takeCuts(() => undefined)
      const turn = order.splice(0, slots).filter((sample) => !endings.has(sample))
      if (turn.length > 0) await decode(request, turn, model, { endings, ...parts })
    }
  return endings.results()
}

async function decode(
  { samples }: GenerateRequest,
  members: readonly number[],
  model: () => Model,
  { endings, write, takeWeights }: { endings: Endings; write: Writer } & Pick<Decoding, 'takeWeights'>,
): Promise<void> {
  const { tf, spec } = model()
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
    }
  })
  const accept = (row: Row, logits: Float32Array, at: number): void => {
    const ended = row.sequence.accept(logits.subarray(at * spec.vocabulary, (at + 1) * spec.vocabulary))
    if (ended) endings.end(row.sequence)
  }
  const goesOn = ({ sequence }: Row): boolean => !endings.has(sequence.sample)
  const underWay = (sample: number): Sequence | undefined =>
    live.find(({ sequence }) => sequence.sample === sample)?.sequence

  await takeWeights?.()
  let { logits, cache } = prefill(model(), rows.map(promptOf), longest)
  let live = rows
  try {
    live.forEach((row, at) => {
      accept(row, logits, at)
    })
    for (let length = longest; !endings.isAborted(); length++) {
      endings.takeCuts(underWay)
      const going = live.filter(goesOn).length
      if (going === 0) break
      if (going <= live.length / 2) {
        const kept = live.flatMap((row, at) => (goesOn(row) ? [at] : []))
        cache = replaced(tf, cache, () => takeRows(tf, cache, kept))
        live = kept.map((at) => live[at]!)
      }
      await takeWeights?.()
      cache = replaced(tf, cache, () => {
        const step = next(model(), live, length, cache)
        logits = step.logits
        return step.cache
      })
      live.forEach((row, at) => {
        if (goesOn(row)) accept(row, logits, at)
      })
    }
  } finally {
    tf.dispose(cache as never)
  }
  // If the call was aborted, end what is still running.
  for (const row of live) if (goesOn(row)) endings.end(row.sequence)
}
