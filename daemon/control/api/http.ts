// HTTP helpers of the control server: size-limited bodies, JSON answers, errors as JSON.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ErrorBody, MAX_REQUEST_BYTES } from '../../../protocol/api/index.ts'
import { type ErrorCode, WaggleError } from '../../../protocol/errors.ts'

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

export class HttpError extends WaggleError {
  readonly status: number
  constructor(status: number, message: string, hint?: string) {
    super('E_CONTROL', message, hint === undefined ? {} : { hint })
    this.status = status
  }
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

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = `${JSON.stringify(body)}\n`
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  })
  response.end(text)
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_REQUEST_BYTES) {
      throw new HttpError(413, `the body of a request may have at most ${MAX_REQUEST_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  if (size === 0) return {}
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new HttpError(400, 'the body of the request is not JSON')
  }
}
