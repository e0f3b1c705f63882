// Calls to the model by an agent. Each is recorded in its rollout before anybody gets the answer. A retry gets the
// recorded answer: if the turn were sampled again, the record might differ from the answer that the agent went on with.

import { HttpError } from '../../http/index.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { isUnderWay, requireUnderWay } from '../book/book.ts'
import { createDelivery } from '../book/delivery.ts'
import type { AgentRollout, Attempt, Call } from '../book/rollout.ts'
import { busy, invalid } from '../errors.ts'
import type { Answers } from './answers.ts'
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
  /** Stored with the call, as the next one; see `Call`. */
  begun?: string | undefined
  conversation?: unknown
  maxNewTokens?: number | undefined
  /** The answer ends where its text contains one of these. */
  stop: readonly string[]
  /** The answer ends as soon as this is true for its text. */
  isEnough?: ((text: string) => boolean) | undefined
  onRecorded?: ((call: Call) => void) | undefined
}

interface CallerOptions {
  /** Most tokens of one answer. */
  maxNewTokens: number
  /** Most tokens of prompt and answer together. */
  context: number
  /** The most that the model could read. */
  modelContext: number
  vocabulary: number
}

interface CallerParts {
  answers: Answers
  tokenizer: Pick<Tokenizer, 'decodeCompletion' | 'reader' | 'stopTokens'>
  now(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
  /** Called when an answer was cut because nobody waited for it, with the number of its tokens. */
  onAbandoned(rollout: AgentRollout, tokens: number): void
}

export interface Caller {
  /** Returns the recorded attempt if this is a retry, otherwise a new one. `make` is only called for a new one. */
  call(rollout: AgentRollout, identity: Identity, make: () => CallRequest): Attempt
}

/** The first three are limits per rollout, the last is for all rollouts together. */
const MAX_CALLS = 256
const MAX_RUNNING = 16
const MAX_TOKENS = 262_144
const MAX_WAITING = 2048
/** How long an answer is written on while nobody waits for it. OpenAI's clients try again within 8 s. */
const GRACE_MS = 10_000

export function createCaller(
  options: CallerOptions,
  { answers, tokenizer, now, after, randomBytes, onAbandoned }: CallerParts,
): Caller {
  const check = ({ prompt }: CallRequest): void => {
    if (prompt.length === 0) throw invalid('the prompt is empty')
    const wrong = prompt.find((token) => token < 0 || token >= options.vocabulary)
    if (wrong !== undefined)
      throw invalid(`token ${wrong} is outside the model's vocabulary of ${options.vocabulary}`)
    if (prompt.length >= options.context) throw tooLong(prompt.length, options)
  }

  const admit = (rollout: AgentRollout): void => {
    requireUnderWay(rollout, now())
    if (rollout.state === 'finished')
      throw new HttpError(410, 'rollout_ended', `rollout ${rollout.id} is finished and makes no more calls`)
    if (rollout.calls.length + rollout.running >= MAX_CALLS)
      throw new HttpError(400, 'too_many_calls', `a rollout may make ${MAX_CALLS} calls`)
    if (rollout.running >= MAX_RUNNING) throw busy(`a rollout may have ${MAX_RUNNING} calls at a time`)
    if (rollout.tokens >= MAX_TOKENS)
      throw new HttpError(
        400,
        'too_many_tokens',
        `the calls of a rollout may have ${MAX_TOKENS} tokens together`,
      )
    if (answers.size >= MAX_WAITING) throw busy(`${answers.size} answers are being written`)
  }

  const begin = (rollout: AgentRollout, identity: Identity, request: CallRequest): Attempt => {
    const { prompt, promptText, begun, conversation, stop, isEnough } = request
    const [id, at] = [randomBytes(12).toString('hex'), now()]
    const { maxNewTokens } = options
    const listeners = new Set<() => void>()
    const drawn: number[] = []
    const cutting = new AbortController()
    let isRunning = true
    const cut = (): void => {
      forget(rollout, attempt)
      cutting.abort()
    }
    const delivery = createDelivery({ graceMs: GRACE_MS }, { after, onAbandoned: cut })
    const reader = tokenizer.reader()
    const record = async (): Promise<Call> => {
      rollout.running += 1
      try {
        const sample = await answers.write({
          prompt,
          maxNewTokens: Math.min(
            request.maxNewTokens ?? maxNewTokens,
            maxNewTokens,
            options.context - prompt.length,
          ),
          signal: cutting.signal,
          onToken(token) {
            drawn.push(token)
            for (const listener of listeners) listener()
            if (stop.length === 0 && !isEnough) return false
            reader.read(token)
            return stopAt(reader.text, stop) !== undefined || isEnough?.(reader.text) === true
          },
        })
        if (sample.finish === 'aborted') {
          if (!cutting.signal.aborted)
            throw new HttpError(503, 'stopping', 'the node is stopping', { retryAfter: 5 })
          onAbandoned(rollout, sample.tokens.length)
        }
        if (!isUnderWay(rollout)) requireUnderWay(rollout, now())
        if (sample.finish === 'aborted')
          throw new HttpError(410, 'abandoned', 'the answer was cut: nobody waited for it')
        const text = tokenizer.decodeCompletion(sample.tokens)
        const call: Call = {
          ...{
            id,
            at,
            prompt,
            promptText,
            begun,
            conversation,
            sample,
            text,
            shown: shownOf(sample.tokens, stop, tokenizer),
            delivery,
          },
        }
        rollout.calls.push(call)
        request.onRecorded?.(call)
        rollout.tokens += prompt.length + sample.tokens.length
        return call
      } finally {
        isRunning = false
        delivery.close()
        rollout.running -= 1
        rollout.activeAt = now()
      }
    }
    const attempt: Attempt = {
      ...{
        id,
        at,
        digest: identity.digest,
        idempotencyKey: identity.idempotencyKey,
        isRetry: identity.isRetry,
        drawn,
        delivery,
        cut,
      },
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
    attempt.done.catch(() => forget(rollout, attempt))
    rollout.attempts.push(attempt)
    return attempt
  }

  return {
    call(rollout, identity, make) {
      const known = earlier(rollout.attempts, identity)
      if (known) return known
      admit(rollout)
      const request = make()
      check(request)
      return begin(rollout, identity, request)
    },
  }
}

/**
 * The attempt that this request repeats: it has the same idempotency key, or the client calls it a retry, or the
 * attempt's answer was lost. A retry may arrive over another connection before the request that it repeats; that
 * request then gets the retry's attempt.
 */
function earlier(
  attempts: readonly Attempt[],
  { digest, idempotencyKey, isRetry }: Identity,
): Attempt | undefined {
  if (idempotencyKey !== undefined) {
    const known = attempts.find((attempt) => attempt.idempotencyKey === idempotencyKey)
    if (known && known.digest !== digest)
      throw new HttpError(409, 'idempotency_conflict', 'this idempotency key was used with another request')
    if (known) return known
  }
  return attempts.findLast(
    (attempt) =>
      attempt.digest === digest &&
      (isRetry ||
        attempt.delivery.state === 'lost' ||
        (attempt.isRetry && attempt.delivery.state === 'pending')),
  )
}

function tooLong(length: number, { context, modelContext, maxNewTokens }: CallerOptions): HttpError {
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

function forget({ attempts }: AgentRollout, attempt: Attempt): void {
  const at = attempts.indexOf(attempt)
  if (at >= 0) attempts.splice(at, 1)
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
