// Calls to the model by an agent. Each is recorded in its rollout before anybody gets the answer. A retry gets the
// recorded answer: if the turn were sampled again, the record might differ from the answer that the agent went on with.

import { HttpError } from '../../http/index.ts'
import { isUnderWay, requireUnderWay } from '../book/book.ts'
import type { AgentRollout, Attempt } from '../book/rollout.ts'
import { busy } from '../errors.ts'
import type { Answers } from './answers.ts'
import type { Begin, CallRequest, Identity } from './attempts.ts'

interface CallerParts {
  answers: Answers
  begin: Begin
  now(): number
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

export function createCaller({ answers, begin, now, onAbandoned }: CallerParts): Caller {
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

  return {
    call(rollout, identity, make) {
      const known = earlier(rollout.attempts, identity)
      if (known) return known
      admit(rollout)
      const attempt = begin(make(), {
        ...{ identity, graceMs: GRACE_MS, write: answers.write },
        accept(sample) {
          if (sample.finish === 'aborted') onAbandoned(rollout, sample.tokens.length)
          if (!isUnderWay(rollout)) requireUnderWay(rollout, now())
        },
        record(call) {
          rollout.calls.push(call)
          rollout.tokens += call.prompt.length + call.sample.tokens.length
        },
        onEnd() {
          rollout.running -= 1
          rollout.activeAt = now()
        },
        forget: (one) => forget(rollout, one),
      })
      rollout.running += 1
      rollout.attempts.push(attempt)
      return attempt
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

function forget({ attempts }: AgentRollout, attempt: Attempt): void {
  const at = attempts.indexOf(attempt)
  if (at >= 0) attempts.splice(at, 1)
}
