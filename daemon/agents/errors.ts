// An error for a client of the gateway: a WaggleError with an HTTP status, and whether to try again.

import { WaggleError } from '../../protocol/errors.ts'

export class AgentError extends WaggleError {
  readonly status: number
  /** A word for programs, as in OpenAI's `error.code`. */
  readonly word: string
  /** Seconds after which to try again; undefined if that would not help. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    word: string,
    message: string,
    { hint, retryAfter }: { hint?: string; retryAfter?: number } = {},
  ) {
    super('E_CONTROL', message, hint === undefined ? {} : { hint })
    this.status = status
    this.word = word
    this.retryAfter = retryAfter
  }
}

export function invalid(message: string, hint?: string): AgentError {
  return new AgentError(400, 'invalid_request', message, hint === undefined ? {} : { hint })
}

export function busy(message: string, retryAfter = 1): AgentError {
  return new AgentError(429, 'busy', message, {
    retryAfter,
    hint: `Try again in ${retryAfter} s, as the Retry-After header says.`,
  })
}
