// The gateway's HTTP server, on loopback. The gateway's token opens rollouts; a rollout's key gives access to that
// rollout only. The server sends no CORS headers and refuses requests from web pages.

import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Book } from '../book/book.ts'
import type { AgentRollout } from '../book/rollout.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { AgentError, busy } from '../errors.ts'
import type { Caller } from '../writing/caller.ts'
import { answerCall } from './calls.ts'
import { errorOf, readBody, sendJson } from './http.ts'
import { callsOf, openRequest, outcomeIn, rewardIn, stateOf } from './rollouts.ts'

export interface ServerOptions {
  listen: string
  model: string
}

export interface ServerParts {
  token: string
  book: Book
  caller: Caller
  /** Dialects by the path after the rollout, such as /v1/chat/completions. */
  dialects: ReadonlyMap<string, Dialect>
  isTask(name: string): boolean
  /** Waits until another group may begin. Throws 429 if that takes too long. */
  room(): Promise<void>
  after(ms: number, run: () => void): () => void
  /** Called with errors that are bugs. */
  onBug(error: unknown, path: string): void
}

export interface AgentServer {
  readonly url: string
  close(): Promise<void>
}

const MOST_REQUESTS = 2048
/** A rollout's path: its id, and the path within it. */
const OF_ROLLOUT = /^\/rollouts\/([\w-]{1,64})(\/.*)$/
const ACTION = /^\/v1\/rollouts\/([\w-]{1,64})(\/calls|\/reward|\/finish)?$/

export async function openServer({ listen, model }: ServerOptions, by: ServerParts): Promise<AgentServer> {
  const { book, token, dialects } = by
  let url = ''
  let underWay = 0

  /** The rollout that the request's key belongs to; undefined for the gateway's token. */
  const ownerOf = (request: IncomingMessage): AgentRollout | undefined => {
    const given = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined) throw unauthorized('a key is required')
    if (same(given, token)) return undefined
    const rollout = book.byKey(given)
    if (!rollout) throw unauthorized('unknown key')
    return rollout
  }

  /** The rollout with this id, if the request's key may access it. */
  const rolloutOf = (request: IncomingMessage, id: string): AgentRollout => {
    const owner = ownerOf(request)
    const rollout = book.byId(id)
    if (owner && owner !== rollout)
      throw new AgentError(403, 'other_rollout', 'this key belongs to another rollout')
    if (rollout) return rollout
    throw new AgentError(404, 'unknown_rollout', `there is no rollout ${id}`, {
      hint: 'It ended long ago, or the node was restarted since it was opened. Open a new one.',
    })
  }

  const open = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (ownerOf(request)) throw new AgentError(403, 'forbidden', "a rollout's key cannot open rollouts")
    const asked = openRequest((await readBody(request)).body, by.isTask)
    if (book.begins(asked)) await by.room()
    const { id, key, group, expiresAt } = book.open(asked)
    sendJson(response, 200, {
      id,
      group,
      base_url: `${url}/rollouts/${id}/v1`,
      api_key: key,
      expires_at: expiresAt,
    })
  }

  const act = async (
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    action: string,
  ): Promise<void> => {
    method(request, action === '/reward' || action === '/finish' ? 'POST' : 'GET')
    const rollout = rolloutOf(request, id)
    if (action === '/calls') return sendJson(response, 200, callsOf(rollout))
    if (action === '/reward') await book.reward(rollout, rewardIn((await readBody(request)).body))
    if (action === '/finish') book.finish(rollout, outcomeIn((await readBody(request)).body))
    sendJson(response, 200, stateOf(rollout))
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://waggle')
    if (request.headers.origin !== undefined)
      throw new AgentError(403, 'forbidden', 'web pages may not use the gateway')
    if (pathname === '/health') return sendJson(response, 200, { status: 'ok', open: book.info().open })
    if (underWay > MOST_REQUESTS) throw busy(`${underWay} requests are being answered`)
    if (pathname === '/v1/rollouts') {
      method(request, 'POST')
      return await open(request, response)
    }
    const [, acted, action = ''] = ACTION.exec(pathname) ?? []
    if (acted !== undefined) return await act(request, response, acted, action)
    const [, id, rest = pathname] = OF_ROLLOUT.exec(pathname) ?? []
    const owner = id === undefined ? ownerOf(request) : rolloutOf(request, id)
    if (rest === '/v1/models') {
      method(request, 'GET')
      const data = [{ id: model, object: 'model', created: 0, owned_by: 'waggle' }]
      return sendJson(response, 200, { object: 'list', data })
    }
    const dialect = dialects.get(rest)
    if (!dialect) {
      const known = ['/v1/models', ...dialects.keys()].join(', ')
      throw new AgentError(404, 'unknown_path', `there is no ${rest.slice(0, 120)}`, {
        hint: `Paths: ${known}.`,
      })
    }
    method(request, 'POST')
    if (!owner)
      throw new AgentError(400, 'no_rollout', 'a call of the model belongs to a rollout', {
        hint: 'Open one with POST /v1/rollouts and use its base_url and api_key.',
      })
    await answerCall(request, response, {
      rollout: owner,
      path: rest,
      dialect,
      caller: by.caller,
      after: by.after,
    })
  }

  const server = createServer(
    { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 15_000 },
    (request, response) => {
      underWay += 1
      response.once('close', () => {
        underWay -= 1
      })
      answer(request, response).catch((error: unknown) => {
        if (!(error instanceof WaggleError)) by.onBug(error, request.url?.split('?')[0] ?? '')
        if (response.headersSent) return response.destroy()
        const { status, headers, body } = errorOf(error)
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
        // The rest of a refused request is not read, so the connection cannot be reused.
        if (!request.complete) response.setHeader('connection', 'close')
        sendJson(response, status, body)
      })
    },
  )
  server.maxConnections = MOST_REQUESTS
  url = await listenOnLoopback(server, listen)
  return {
    url,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

function method(request: IncomingMessage, wanted: 'GET' | 'POST'): void {
  if (request.method !== wanted) throw new AgentError(405, 'wrong_method', `this path takes ${wanted} only`)
}

function unauthorized(message: string): AgentError {
  return new AgentError(401, 'unauthorized', message, {
    hint: 'Send "Authorization: Bearer …": the gateway\'s token, or the api_key of a rollout. A restart of the node ends all open rollouts.',
  })
}

function same(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

async function listenOnLoopback(server: Server, listen: string): Promise<string> {
  const at = listen.lastIndexOf(':')
  const host = listen.slice(0, at).replace(/^\[|\]$/g, '')
  if (!(host === 'localhost' || host === '::1' || /^127\./.test(host))) {
    throw new WaggleError('E_PORT', `agents.listen = "${listen}" can be reached by other machines`, {
      hint: 'Use 127.0.0.1; agents on other machines can come through ssh (`ssh -L`).',
    })
  }
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message
      reject(
        new WaggleError('E_PORT', `cannot serve agents on ${listen}: ${reason}`, {
          hint: 'Choose another port in agents.listen.',
          cause,
        }),
      )
    }
    server.once('error', failed)
    server.listen(Number(listen.slice(at + 1)), host, () => {
      server.off('error', failed)
      resolve()
    })
  })
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
