// Errors of the control server, as JSON.

import type { ErrorBody } from '../../../protocol/api/index.ts'
import { type ErrorCode, WaggleError } from '../../../protocol/errors.ts'
import { HttpError } from '../../http/index.ts'

/** HTTP statuses for people who use curl. Programs should use the code in the body. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  E_CONTROL: 400,
  E_USAGE: 400,
  E_CONFIG: 400,
  E_PEER: 404,
  E_TASK: 404,
  E_SWARM_RULES: 409,
  E_NOT_RUNNING: 503,
}

export function statusOf(error: unknown): number {
  if (error instanceof HttpError) return error.status
  return error instanceof WaggleError ? (STATUS[error.code] ?? 500) : 500
}

export function errorBody(error: unknown): ErrorBody {
  if (error instanceof WaggleError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
    }
  }
  return {
    code: 'E_CONTROL',
    message: `the node failed to answer: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'This is a bug in Waggle. The log of the daemon has the details.',
  }
}
