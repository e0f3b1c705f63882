// An HTTP server of the gateway: its limits, which web pages may use it, and errors in the form of the API that is called.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { WaggleError } from '../../../protocol/errors.ts'
import { HttpError, isSameToken, listenOn, sendJson, tokenIn } from '../../http/index.ts'
import { busy } from '../errors.ts'
import { errorOf } from './http.ts'

interface ListenerOptions {
  listen: string
  /** What is served, and the setting with its address, for errors. */
  what: string
  setting: string
  /** Web pages of these origins may use it. */
  origins?: readonly string[]
}

interface ListenerParts {
  /** `path` is that of the request, without its query. */
  answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>
  /** Called with errors that are bugs. */
  onBug(error: unknown, path: string): void
  requestId(): string
}

export interface Listener {
  readonly url: string
  close(): Promise<void>
}

const MAX_REQUESTS = 2048
/** What web pages may read of an answer. */
const EXPOSED = 'x-waggle-id, x-waggle-ignored, retry-after, request-id'

export async function openListener(
  { origins = [], ...options }: ListenerOptions,
  parts: ListenerParts,
): Promise<Listener> {
  let underWay = 0
  /** True if the request was a web page's question whether it may ask. */
  const isAsked = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { origin } = request.headers
    if (origin === undefined) return false
    if (!origins.includes(origin))
      throw new HttpError(403, 'forbidden', `web pages of this origin may not use ${options.what}`)
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('vary', 'origin')
    response.setHeader('access-control-expose-headers', EXPOSED)
    if (request.method !== 'OPTIONS') return false
    response.writeHead(204, {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '',
      'access-control-max-age': '600',
    })
    response.end()
    return true
  }

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (isAsked(request, response)) return
    if (path === '/health') return sendJson(response, 200, { status: 'ok' })
    if (underWay > MAX_REQUESTS) throw busy(`${underWay} requests are being answered`)
    await parts.answer(request, response, path)
  }

  const server = createServer(
    { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 15_000 },
    (request, response) => {
      underWay += 1
      response.once('close', () => {
        underWay -= 1
      })
      const path = pathOf(request)
      response.setHeader('request-id', `req_${parts.requestId()}`)
      answer(request, response, path).catch((error: unknown) => {
        if (!(error instanceof WaggleError)) parts.onBug(error, path)
        if (response.headersSent) return response.destroy()
        const { status, headers, body } = errorOf(error, path)
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
        // The rest of a refused request is not read, so the connection cannot be reused.
        if (!request.complete) response.setHeader('connection', 'close')
        sendJson(response, status, body)
      })
    },
  )
  server.maxConnections = MAX_REQUESTS
  return {
    url: await listenOn(server, options),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0]!.replace(/^\/{2,}/, '/')
}

/** Throws 401 unless the request has the key. `prefix` is what some clients want before it. */
export function requireKey(
  request: IncomingMessage,
  key: string,
  { hint, prefix = '' }: { hint: string; prefix?: string },
): void {
  const given = tokenIn(request)
  if (given === undefined) throw unauthorized('a key is required', hint)
  if (!isSameToken(given.replace(prefix, ''), key)) throw unauthorized('unknown key', hint)
}

export function unauthorized(message: string, hint: string): HttpError {
  return new HttpError(401, 'unauthorized', message, { hint })
}

export function requireMethod(request: IncomingMessage, wanted: 'GET' | 'POST'): void {
  if (request.method !== wanted) throw new HttpError(405, 'wrong_method', `this path takes ${wanted} only`)
}
