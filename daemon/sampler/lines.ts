// The sequences of one `generate`. What a back end gives is checked and recorded here, in the same way for every back
// end.

import { WaggleError } from '../../protocol/errors.ts'
import type { GenerateOptions, GenerateRequest, Sample } from '../engine/engine.ts'
import { uniformAt } from '../engine/sampling/random.ts'
import { createStops } from '../engine/sampling/stops.ts'
import type { Line } from './back-end.ts'

export interface LinesOptions {
  vocabulary: number
  version: number
  /** The text of each token id on its own, needed for stop strings. */
  pieces: readonly string[] | undefined
  /** True for tokens that a sequence may end with. */
  isSpecial(token: number): boolean
}

export interface Lines {
  lines: Line[]
  /** All samples in the order of the request. Sequences that have not ended count as aborted. */
  results(): Sample[]
}

/** Rounding may lift a probability slightly above 1. */
const MAX_LOGPROB = 1e-3

export function openLines(
  request: GenerateRequest,
  { vocabulary, version, pieces, isSpecial }: LinesOptions,
  { signal, control, onToken, onDrawn, onFinish }: GenerateOptions,
): Lines {
  const stopsOf = createStops(request, pieces)
  const results: (Sample | undefined)[] = request.samples.map(() => undefined)
  let drawnTokens = 0
  const cuts = request.samples.map(() => new AbortController())
  const records = request.samples.map(() => ({ tokens: [] as number[], logprobs: [] as number[] }))

  const close = (sample: number, finish: Sample['finish']): Sample => {
    const { tokens, logprobs } = records[sample]!
    const written: Sample = {
      tokens: Int32Array.from(tokens),
      logprobs: Float32Array.from(logprobs),
      // The same, because a back end reports the policy's log-probs even at temperature 0.
      policyLogprobs: Float32Array.from(logprobs),
      entropies: Float32Array.from(logprobs, entropyOf),
      finish,
      version,
    }
    results[sample] = written
    onFinish?.(sample, written)
    return written
  }

  const lines = request.samples.map(({ prompt, seed, drawn = 0, maxNewTokens }, sample): Line => {
    const limit = Math.min(request.maxNewTokens, maxNewTokens ?? request.maxNewTokens)
    const { tokens, logprobs } = records[sample]!
    const isStop = stopsOf()
    return {
      prompt,
      seed: drawn === 0 ? seed : Math.floor(uniformAt(seed, drawn) * 2 ** 32),
      maxNewTokens: limit,
      signal: signal ? AbortSignal.any([signal, cuts[sample]!.signal]) : cuts[sample]!.signal,
      take(token, logprob) {
        if (results[sample]) return true
        if (!Number.isInteger(token) || token < 0 || token >= vocabulary)
          throw wrong(`token id ${token}, and this model's are below ${vocabulary}`)
        if (!Number.isFinite(logprob) || logprob > MAX_LOGPROB)
          throw wrong(`a log-prob of ${logprob} for token ${token}`)
        tokens.push(token)
        logprobs.push(Math.min(0, logprob))
        drawnTokens += 1
        onDrawn?.(drawnTokens)
        onToken?.({ sample, token, logprob: Math.min(0, logprob), entropy: entropyOf(logprob) })
        if (isStop(token)) close(sample, 'stop')
        else if (tokens.length >= limit) close(sample, 'length')
        return results[sample] !== undefined
      },
      end(finish) {
        if (results[sample]) return
        const last = tokens.at(-1)
        if (last === undefined) throw wrong('a sequence without tokens')
        // Otherwise the policy would never learn when to stop.
        if (finish === 'stop' && !isSpecial(last))
          throw wrong(`a sequence that ended without an end token, after token ${last}`)
        close(sample, finish)
      },
    }
  })
  control?.listen((samples) => {
    for (const sample of samples) {
      if (!(sample in results) || results[sample]) continue
      cuts[sample]!.abort()
      close(sample, 'aborted')
    }
  })
  return {
    lines,
    results: () => results.map((written, sample) => written ?? close(sample, 'aborted')),
  }
}

/** On average over sampled tokens, -log p is the entropy. Back ends report nothing better. */
function entropyOf(logprob: number): number {
  return Math.max(0, -logprob)
}

function wrong(what: string): WaggleError {
  return new WaggleError('E_SAMPLER', `the external sampler gave ${what}`, {
    hint: 'It must serve this model with this tokenizer, and report token ids and log-probs of the tokens that it drew.',
  })
}
