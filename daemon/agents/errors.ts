// The usual errors for a client of the gateway.

import { HttpError } from '../http/index.ts'

export function invalid(message: string, hint?: string): HttpError {
  return new HttpError(400, 'invalid_request', message, hint === undefined ? {} : { hint })
}

export function busy(message: string, retryAfter = 1): HttpError {
  return new HttpError(429, 'busy', message, {
    retryAfter,
    hint: `Try again in ${retryAfter} s, as the Retry-After header says.`,
  })
}
