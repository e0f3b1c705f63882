// The gateway's request bodies, and errors in the format of the API that is called.

import type { IncomingMessage } from 'node:http'
import { WaggleError } from '../../../protocol/errors.ts'
import { parseExactly } from '../../../protocol/json.ts'
import { HttpError, parseBody, readBody } from '../../http/index.ts'
import type { Body } from '../dialects/dialect.ts'
import { invalid } from '../errors.ts'

const MAX_BYTES = 4 * 1024 * 1024

/** The request's body, as bytes (for digests) and as an object. */
export async function readObject(request: IncomingMessage): Promise<{ bytes: Buffer; body: Body }> {
  const bytes = await readBody(request, { maxBytes: MAX_BYTES })
  const body = parseBody(bytes, bodyIn)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('the body must be a JSON object')
  return { bytes, body: body as Body }
}

/** Fields of which numbers are only handed on: to the model, or back to the client. */
const HANDED_ON = ['tools', 'response_format', 'format', 'text', 'metadata', 'messages']

/** Parses a body. What is only handed on keeps its numbers as they are written. */
function bodyIn(text: string): unknown {
  const body: unknown = JSON.parse(text)
  if (typeof body !== 'object' || body === null) return body
  const names = HANDED_ON.filter((name) => Object.hasOwn(body, name))
  if (names.length === 0) return body
  const exact = parseExactly(text) as Record<string, unknown>
  return { ...body, ...Object.fromEntries(names.map((name) => [name, exact[name]])) }
}

/** What is sent instead of an answer to a request of this path, with headers for clients that retry. */
export function errorOf(
  error: unknown,
  path: string,
): { status: number; headers: Record<string, string>; body: object } {
  const known = error instanceof HttpError ? error : undefined
  const status = known?.status ?? statusOf(error)
  const retryAfter = known?.retryAfter ?? (status >= 500 ? 1 : undefined)
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof WaggleError && error.hint !== undefined ? ` (${error.hint})` : ''
  return {
    status,
    headers: {
      // OpenAI's clients obey both headers.
      'x-should-retry': retryAfter === undefined ? 'false' : 'true',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: bodyOf(path, {
      status,
      message: `${message}${hint}`,
      code: known?.word ?? (error instanceof WaggleError ? error.code.toLowerCase() : 'unexpected'),
    }),
  }
}

interface Failure {
  status: number
  message: string
  code: string
}

function bodyOf(path: string, failure: Failure): object {
  if (path.endsWith('/v1/messages') || path.includes('/v1/messages/')) return ofAnthropic(failure)
  if (/^(\/rollouts\/[\w-]+)?\/api\//.test(path)) return { error: failure.message }
  return ofOpenAI(failure)
}

function ofOpenAI({ status, message, code }: Failure): object {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error'
  return { error: { message, type, param: null, code } }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

function ofAnthropic({ status, message }: Failure): object {
  const type = ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message } }
}

/** If a chat template refuses the messages, that is the caller's mistake. */
function statusOf(error: unknown): number {
  if (!(error instanceof WaggleError)) return 500
  return error.code === 'E_MODEL' ? 400 : 503
}
