// A sequence being sampled: draws its tokens from logits, records their log-probs and decides when to stop. All engines
// use it, so the same logits give the same sequence in each of them.

import { WaggleError } from '../../../protocol/errors.ts'
import { cover, type Segment } from '../../../protocol/train/index.ts'
import type { Point } from '../decoding/sequence-cache.ts'
import type { DrawnToken, GenerateRequest, Sample } from '../engine.ts'
import { createMasks, type Masks } from '../grammar/masks.ts'
import type { OpenRequest } from '../opening.ts'
import { type Draw, draw, isCut } from './draw.ts'
import { uniformAt } from './random.ts'
import { createStops } from './stops.ts'

/** What is passed on with a model's weights. */
export interface Labels {
  /** Version of the weights that tokens are drawn with. */
  version: number
  /** The text of each token id on its own, needed for stop strings. */
  pieces?: readonly string[] | undefined
  /** What grammars allow; see `GenerateRequest.grammar`. */
  masks: Masks
}

export function labelsOf({
  version = 0,
  pieces,
  tokenBytes,
}: Pick<OpenRequest, 'version' | 'pieces' | 'tokenBytes'>): Labels {
  return { version, pieces, masks: createMasks(tokenBytes) }
}

interface WriterOptions {
  vocabulary: number
  /** Read for each token, because the weights may change while the sequence runs. */
  labels: Labels
  onToken?: ((drawn: DrawnToken) => void) | undefined
}

export interface Sequence {
  /** Index in the request. */
  readonly sample: number
  /** Tokens so far. */
  readonly length: number
  /** The last token; 0 if there is none yet. */
  readonly last: number
  /** What its next token can be drawn at elsewhere; undefined if only some tokens may be drawn. */
  point(): Point | undefined
  /**
   * Takes the next token, drawn from a row of logits or at `point`; true if it ends the sequence. Throws E_ENGINE if the
   * logits are not finite.
   */
  accept(row: Float32Array | Draw): boolean
  /** The sample so far. A sequence that has not ended by itself counts as aborted. */
  finish(): Sample
}

/** `reused` is as in `Sample`. */
export type Writer = (sample: number, reused?: number) => Sequence

export function createWriter(
  request: GenerateRequest,
  { vocabulary, labels, onToken }: WriterOptions,
): Writer {
  const stopsOf = createStops(request, labels.pieces)
  const work = new Float64Array(vocabulary)
  const { grammar, stopTokens } = request

  return (sample, reused) => {
    const { seed, drawn = 0, maxNewTokens = request.maxNewTokens } = request.samples[sample]!
    const limit = Math.min(request.maxNewTokens, maxNewTokens)
    const tokens: number[] = []
    const logprobs: number[] = []
    const policyLogprobs: number[] = []
    const entropies: number[] = []
    const segments: Segment[] = []
    const isStopped = stopsOf()
    const mask = grammar && labels.masks.of(grammar, stopTokens)
    const allowed: number[] = []
    let ended: 'stop' | 'length' | undefined
    const nextU = (): number => uniformAt(seed, drawn + tokens.length)

    return {
      sample,
      get length() {
        return tokens.length
      },
      get last() {
        return tokens.at(-1) ?? 0
      },
      point: () => (mask || isCut(request) ? undefined : { u: nextU(), temperature: request.temperature }),
      accept(row) {
        const drew = row instanceof Float32Array ? draw(row, request, nextU(), work, mask?.allowed()) : row
        const { token, logprob, entropy, policyLogprob } = drew
        if (!Number.isFinite(logprob))
          throw new WaggleError('E_ENGINE', 'the policy gave logits that are not finite')
        cover(segments, labels.version, 1)
        tokens.push(token)
        logprobs.push(logprob)
        policyLogprobs.push(policyLogprob)
        entropies.push(entropy)
        mask?.take(token)
        if (mask) allowed.push(drew.allowed)
        onToken?.({ sample, token, logprob, entropy })
        if (isStopped(token)) ended = 'stop'
        else if (tokens.length >= limit) ended = 'length'
        return ended !== undefined
      },
      finish: () => ({
        tokens: Int32Array.from(tokens),
        logprobs: Float32Array.from(logprobs),
        policyLogprobs: Float32Array.from(policyLogprobs),
        entropies: Float32Array.from(entropies),
        ...(mask ? { allowed: Float32Array.from(allowed) } : {}),
        finish: ended ?? 'aborted',
        version: segments[0]?.version ?? labels.version,
        ...(segments.length > 1 ? { segments } : {}),
        ...(reused ? { reused } : {}),
      }),
    }
  }
}
