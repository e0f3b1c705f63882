// Writes the answers of all open conversations. Each is a call of the sampler, which decodes it side by side with all
// others and with the node's own rollouts, starting with its next step.

import { segmentsUpTo } from '../../../protocol/train/index.ts'
import { createControl } from '../../engine/control.ts'
import type { Sample, Sampler, Sampling } from '../../engine/engine.ts'
import type { Grammar } from '../../engine/grammar/grammar.ts'
import { HttpError } from '../../http/index.ts'

export interface AnswerRequest {
  prompt: Int32Array
  /** The distribution and the seed; undefined for the node's distribution. */
  sampling?: Wished | undefined
  grammar?: Grammar | undefined
  maxNewTokens: number
  /** Called with each token. If it returns true, the answer ends after this token. */
  onToken(token: number): boolean
  /** Ends the answer; it then counts as aborted. */
  signal: AbortSignal
}

export interface Answers {
  write(request: AnswerRequest): Promise<Sample>
  /** Number of answers that are being written. */
  readonly size: number
  /** Ends all answers. */
  close(): Promise<void>
}

interface AnswersOptions {
  temperature: number
  /** Somebody waits for the answers; see `GenerateRequest`. */
  isInteractive?: boolean
  stopTokens: readonly number[]
}

interface AnswersParts {
  sampler: Pick<Sampler, 'generate'>
  /** Returns a seed for an answer; unsigned 32-bit. */
  seed(): number
  monotonic(): number
  /** Called when an answer has been written. */
  onSampled(answer: { seconds: number; tokens: number }): void
}

export function createAnswers(
  { temperature, stopTokens, isInteractive = false }: AnswersOptions,
  parts: AnswersParts,
): Answers {
  const running = new Set<Promise<Sample>>()
  const closing = new AbortController()

  const write = async ({
    prompt,
    maxNewTokens,
    onToken,
    signal,
    sampling,
    grammar,
  }: AnswerRequest): Promise<Sample> => {
    const { seed = parts.seed(), ...distribution } = sampling ?? { temperature }
    const control = createControl()
    const cut = (): void => control.cut([0])
    signal.addEventListener('abort', cut, { once: true })
    const started = parts.monotonic()
    let drawn = 0
    let stopped = Number.POSITIVE_INFINITY
    const [sample] = await parts.sampler.generate(
      {
        ...distribution,
        samples: [{ prompt, seed: seed >>> 0 }],
        ...{ maxNewTokens, stopTokens, isConversation: true },
        ...(isInteractive ? { isInteractive } : {}),
        ...(grammar ? { grammar } : {}),
      },
      {
        control,
        signal: closing.signal,
        onToken({ token }) {
          // Ignore tokens after the cut: the sampler may be some tokens ahead of it.
          if (drawn >= stopped) return
          drawn += 1
          if (!onToken(token)) return
          stopped = drawn
          cut()
        },
      },
    )
    signal.removeEventListener('abort', cut)
    parts.onSampled({ seconds: (parts.monotonic() - started) / 1000, tokens: sample!.tokens.length })
    return upTo(sample!, stopped)
  }

  return {
    get size() {
      return running.size
    },
    async write(request) {
      if (closing.signal.aborted)
        throw new HttpError(503, 'stopping', 'the node is stopping', { retryAfter: 5 })
      const answer = write(request)
      running.add(answer)
      return await answer.finally(() => running.delete(answer))
    },
    async close() {
      closing.abort()
      await Promise.allSettled(running)
    },
  }
}

/** The first `length` tokens of a sample, as if it had ended after them. */
function upTo(sample: Sample, length: number): Sample {
  if (length > sample.tokens.length) return sample
  const { tokens, logprobs, policyLogprobs, entropies, allowed, segments, ...rest } = sample
  const kept = segments && segmentsUpTo(segments, length)
  return {
    tokens: tokens.slice(0, length),
    logprobs: logprobs.slice(0, length),
    policyLogprobs: policyLogprobs.slice(0, length),
    entropies: entropies.slice(0, length),
    ...(allowed ? { allowed: allowed.slice(0, length) } : {}),
    ...rest,
    finish: 'stop',
    ...(kept && kept.length > 1 ? { segments: kept } : {}),
  }
}

/** What a request chooses that is only served. */
export interface Wished extends Sampling {
  seed?: number
}
