// An error for a client of one of the node's HTTP servers: a WaggleError with a status.

import { WaggleError } from '../../protocol/errors.ts'

export class HttpError extends WaggleError {
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
