// Writes the answer to one request: draws its tokens, tells of them as they come, and makes the call that is recorded.

import type { Sample } from '../../engine/engine.ts'
import type { Grammar } from '../../engine/grammar/grammar.ts'
import { HttpError } from '../../http/index.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { createDelivery } from '../book/delivery.ts'
import type { Attempt, Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import type { OfferedModel } from '../serving/offered-model.ts'
import type { AnswerRequest, Wished } from './answers.ts'
import { stopAt } from './stops.ts'

/** Identifies requests that repeat an earlier one. */
export interface Identity {
  /** Digest of the request's path and body. */
  digest: string
  idempotencyKey?: string | undefined
  /** The client says that this request is a retry. */
  isRetry: boolean
}

export interface CallRequest {
  prompt: Int32Array
  promptText?: string | undefined
  /** What the user said last. */
  asked?: string | undefined
  /** Stored with the call, as the next two; see `Call`. */
  begun?: string | undefined
  thoughtEnd?: string | undefined
  conversation?: unknown
  maxNewTokens?: number | undefined
  /** The answer ends where its text contains one of these. */
  stop: readonly string[]
  /** What the answer may be. */
  grammar?: Grammar | undefined
  /** The answer ends as soon as this is true for its text. */
  isEnough?: ((text: string) => boolean) | undefined
  onRecorded?: ((call: Call) => void) | undefined
  /** Undefined for the node's own distribution. */
  sampling?: Wished | undefined
}

interface AttemptsOptions extends Pick<OfferedModel, 'context' | 'modelContext' | 'vocabulary'> {
  /** Most tokens of one answer. */
  maxNewTokens: number
}

interface AttemptsParts {
  tokenizer: Pick<Tokenizer, 'decodeCompletion' | 'reader' | 'stopTokens'>
  now(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
}

/** What the one that asks for an answer does with it. */
interface Course {
  identity: Identity
  /** How long the answer is written on while nobody waits for it. */
  graceMs: number
  write(request: AnswerRequest): Promise<Sample>
  /** Called with what was sampled. Throws if it does not count. */
  accept?(sample: Sample): void
  record?(call: Call): void
  /** Called when the answer is written or has failed. */
  onEnd?(): void
  /** Called with an attempt that failed or was cut. */
  forget?(attempt: Attempt): void
}

export type Begin = (request: CallRequest, course: Course) => Attempt

/** The result throws if the prompt cannot be answered. */
export function createAttempts(options: AttemptsOptions, parts: AttemptsParts): Begin {
  const { tokenizer } = parts
  return (request, course) => {
    check(request, options)
    const { prompt, promptText, begun, thoughtEnd, conversation, stop, isEnough } = request
    const [id, at] = [parts.randomBytes(12).toString('hex'), parts.now()]
    const listeners = new Set<() => void>()
    const drawn: number[] = []
    let firstAt: number | undefined
    const cutting = new AbortController()
    let isRunning = true
    const cut = (): void => {
      course.forget?.(attempt)
      cutting.abort()
    }
    const delivery = createDelivery({ graceMs: course.graceMs }, { after: parts.after, onAbandoned: cut })
    const reader = tokenizer.reader()
    const sampled = async (): Promise<Sample> => {
      const sample = await course.write({
        prompt,
        ...{ sampling: request.sampling, grammar: request.grammar },
        maxNewTokens: Math.min(
          request.maxNewTokens ?? options.maxNewTokens,
          options.maxNewTokens,
          options.context - prompt.length,
        ),
        signal: cutting.signal,
        onToken(token) {
          firstAt ??= parts.now()
          drawn.push(token)
          for (const listener of listeners) listener()
          if (stop.length === 0 && !isEnough) return false
          reader.read(token)
          return stopAt(reader.text, stop) !== undefined || isEnough?.(reader.text) === true
        },
      })
      if (sample.finish === 'aborted' && !cutting.signal.aborted)
        throw new HttpError(503, 'stopping', 'the node is stopping', { retryAfter: 5 })
      course.accept?.(sample)
      if (sample.finish === 'aborted')
        throw new HttpError(410, 'abandoned', 'the answer was cut: nobody waited for it')
      return sample
    }
    const record = async (): Promise<Call> => {
      try {
        const sample = await sampled()
        const endedAt = parts.now()
        const call: Call = {
          ...{ id, at, endedAt, firstAt: firstAt ?? endedAt },
          ...{ prompt, promptText, begun, thoughtEnd, conversation, sample, delivery },
          text: tokenizer.decodeCompletion(sample.tokens),
          shown: shownOf(sample.tokens, stop, tokenizer),
        }
        course.record?.(call)
        request.onRecorded?.(call)
        return call
      } finally {
        isRunning = false
        delivery.close()
        course.onEnd?.()
      }
    }
    const attempt: Attempt = {
      ...{
        id,
        at,
        promptLength: prompt.length,
        ...course.identity,
        idempotencyKey: course.identity.idempotencyKey,
      },
      ...{ drawn, delivery, cut, thoughtEnd },
      get isRunning() {
        return isRunning
      },
      listen(onToken) {
        listeners.add(onToken)
        return () => void listeners.delete(onToken)
      },
      done: record(),
    }
    // Forgets a failed attempt. Its rejection must be caught here: a client that has gone away does not await it.
    attempt.done.catch(() => course.forget?.(attempt))
    return attempt
  }
}

function check({ prompt }: CallRequest, options: AttemptsOptions): void {
  if (prompt.length === 0) throw invalid('the prompt is empty')
  const wrong = prompt.find((token) => token < 0 || token >= options.vocabulary)
  if (wrong !== undefined)
    throw invalid(`token ${wrong} is outside the model's vocabulary of ${options.vocabulary}`)
  if (prompt.length >= options.context) throw tooLong(prompt.length, options)
}

function tooLong(length: number, { context, modelContext, maxNewTokens }: AttemptsOptions): HttpError {
  const wanted = Math.min(modelContext, length + maxNewTokens)
  return new HttpError(
    400,
    'context_length_exceeded',
    `the prompt has ${length} tokens; a conversation may have ${context} (agents.max_tokens), the model's context has ${modelContext}`,
    {
      hint:
        length < modelContext
          ? `Start the node with agents.max_tokens = ${wanted} or more, or shorten the conversation.`
          : 'Shorten the conversation, or take a model with a longer context.',
    },
  )
}

/** What the caller gets of an answer. Unless the model ended it, a character of which the rest was cut off is left out. */
function shownOf(
  tokens: Int32Array,
  stop: readonly string[],
  tokenizer: Pick<Tokenizer, 'reader' | 'stopTokens'>,
): string {
  const reader = tokenizer.reader()
  for (const token of tokens) reader.read(token)
  const text = tokenizer.stopTokens.includes(tokens.at(-1)!) ? reader.end() : reader.text
  return text.slice(0, stopAt(text, stop) ?? text.length)
}
