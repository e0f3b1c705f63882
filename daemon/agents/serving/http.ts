// HTTP for the gateway: request bodies of limited size, JSON answers, and errors in OpenAI's format.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { WaggleError } from '../../../protocol/errors.ts'
import { parseExactly } from '../../../protocol/json.ts'
import type { Body } from '../dialects/dialect.ts'
import { AgentError, invalid } from '../errors.ts'

const MOST_BYTES = 4 * 1024 * 1024
/** Most levels of nested brackets. Deeper values would exhaust the stack of code that walks through them. */
const MOST_DEPTH = 64

/** The request's body, as bytes (for digests) and as an object. */
export async function readBody(request: IncomingMessage): Promise<{ bytes: Buffer; body: Body }> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MOST_BYTES)
      throw new AgentError(413, 'request_too_large', `a request may have at most ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (depthOf(bytes) > MOST_DEPTH) throw invalid(`the body is nested more than ${MOST_DEPTH} levels deep`)
  let body: unknown
  try {
    body = size === 0 ? {} : bodyIn(bytes.toString('utf8'))
  } catch {
    throw invalid('the body of the request is not JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('the body must be a JSON object')
  return { bytes, body: body as Body }
}

/** Fields of which numbers are only handed on: to the model, or back to the client. */
const HANDED_ON = ['tools', 'response_format', 'text', 'metadata']

/** Parses a body. What is only handed on keeps its numbers as they are written. */
function bodyIn(text: string): unknown {
  const body: unknown = JSON.parse(text)
  if (typeof body !== 'object' || body === null) return body
  const names = HANDED_ON.filter((name) => Object.hasOwn(body, name))
  if (names.length === 0) return body
  const exact = parseExactly(text) as Record<string, unknown>
  return { ...body, ...Object.fromEntries(names.map((name) => [name, exact[name]])) }
}

/** Depth of nested brackets outside strings. Exact for valid JSON. */
function depthOf(json: Buffer): number {
  const [quote, backslash] = [0x22, 0x5c]
  let [depth, most, isText] = [0, 0, false]
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!
    if (isText) {
      if (byte === backslash) i += 1
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    // [ and {, then ] and }.
    else if (byte === 0x5b || byte === 0x7b) most = Math.max(most, ++depth)
    else if (byte === 0x5d || byte === 0x7d) depth -= 1
  }
  return most
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  })
  response.end(text)
}

/** What is sent instead of an answer, with headers for clients that retry. */
export function errorOf(error: unknown): { status: number; headers: Record<string, string>; body: object } {
  const known = error instanceof AgentError ? error : undefined
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
    body: {
      error: {
        message: `${message}${hint}`,
        type: status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error',
        param: null,
        code: known?.word ?? (error instanceof WaggleError ? error.code.toLowerCase() : 'unexpected'),
      },
    },
  }
}

/** If a chat template refuses the messages, that is the caller's mistake. */
function statusOf(error: unknown): number {
  if (!(error instanceof WaggleError)) return 500
  return error.code === 'E_MODEL' ? 400 : 503
}
