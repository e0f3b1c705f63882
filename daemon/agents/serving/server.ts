// The gateway's HTTP server, on loopback. The gateway's token opens rollouts; a rollout's key gives access to that
// rollout only. The server sends no CORS headers and refuses requests from web pages.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { WaggleError } from '../../../protocol/errors.ts'
import { HttpError, isLoopback, isSameToken, listenOn, sendJson, tokenIn } from '../../http/index.ts'
import type { Book } from '../book/book.ts'
import type { AgentRollout } from '../book/rollout.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { busy } from '../errors.ts'
import type { Caller } from '../writing/caller.ts'
import { answerCall } from './calls.ts'
import { errorOf, readObject } from './http.ts'
import { callsOf, openRequest, outcomeIn, rewardIn, stateOf } from './rollouts.ts'

export interface ServerOptions {
  listen: string
  model: string
  /** Most tokens of a conversation, and of the model's context. */
  context: number
  modelContext: number
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

interface AgentServer {
  readonly url: string
  close(): Promise<void>
}

const MAX_REQUESTS = 2048
/** A rollout's path: its id, and the path within it. */
const OF_ROLLOUT = /^\/rollouts\/([\w-]{1,64})(\/.*)$/
/** The list of models, or one of them, whose id may hold slashes. */
const MODEL = /^\/v1\/models(\/.+|)$/
const ACTION = /^\/v1\/rollouts\/([\w-]{1,64})(\/calls|\/reward|\/finish)?$/

export async function openServer(
  { listen, model, context, modelContext }: ServerOptions,
  by: ServerParts,
): Promise<AgentServer> {
  const { book, token, dialects } = by
  let url = ''
  let underWay = 0

  /** The rollout that the request's key belongs to; undefined for the gateway's token. */
  const ownerOf = (request: IncomingMessage): AgentRollout | undefined => {
    const given = tokenIn(request)
    if (given === undefined) throw unauthorized('a key is required')
    if (isSameToken(given, token)) return undefined
    const rollout = book.byKey(given)
    if (!rollout) throw unauthorized('unknown key')
    return rollout
  }

  /** The rollout with this id, if the request's key may access it. */
  const rolloutOf = (request: IncomingMessage, id: string): AgentRollout => {
    const owner = ownerOf(request)
    const rollout = book.byId(id)
    if (owner && owner !== rollout)
      throw new HttpError(403, 'other_rollout', 'this key belongs to another rollout')
    if (rollout) return rollout
    throw new HttpError(404, 'unknown_rollout', `there is no rollout ${id}`, {
      hint: 'It ended long ago, or the node was restarted since it was opened. Open a new one.',
    })
  }

  const open = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (ownerOf(request)) throw new HttpError(403, 'forbidden', "a rollout's key cannot open rollouts")
    const asked = openRequest((await readObject(request)).body, by.isTask)
    if (book.begins(asked)) await by.room()
    const { id, key, group, expiresAt } = book.open(asked)
    sendJson(response, 200, {
      id,
      group,
      base_url: `${url}/rollouts/${id}/v1`,
      api_key: key,
      expires_at: expiresAt,
      max_tokens: context,
      model_context: modelContext,
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
    if (action === '/reward') await book.reward(rollout, rewardIn((await readObject(request)).body))
    if (action === '/finish') book.finish(rollout, outcomeIn((await readObject(request)).body))
    sendJson(response, 200, stateOf(rollout))
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '/', 'http://waggle')
    if (request.headers.origin !== undefined)
      throw new HttpError(403, 'forbidden', 'web pages may not use the gateway')
    if (pathname === '/health') return sendJson(response, 200, { status: 'ok', open: book.info().open })
    if (underWay > MAX_REQUESTS) throw busy(`${underWay} requests are being answered`)
    if (pathname === '/v1/rollouts') {
      method(request, 'POST')
      return await open(request, response)
    }
    const [, acted, action = ''] = ACTION.exec(pathname) ?? []
    if (acted !== undefined) return await act(request, response, acted, action)
    const [, id, rest = pathname] = OF_ROLLOUT.exec(pathname) ?? []
    const owner = id === undefined ? ownerOf(request) : rolloutOf(request, id)
    const [, asked] = MODEL.exec(rest) ?? []
    if (asked !== undefined) {
      method(request, 'GET')
      const one = { id: model, object: 'model', created: 0, owned_by: 'waggle', max_model_len: context }
      if (asked === '') return sendJson(response, 200, { object: 'list', data: [one] })
      if (isModel(asked.slice(1), model)) return sendJson(response, 200, one)
      throw new HttpError(404, 'model_not_found', 'there is no such model', { hint: `There is "${model}".` })
    }
    const dialect = dialects.get(rest)
    if (!dialect) {
      const known = ['/v1/models', ...dialects.keys()].join(', ')
      throw new HttpError(404, 'unknown_path', `there is no ${rest.slice(0, 120)}`, {
        hint: `Paths: ${known}.`,
      })
    }
    method(request, 'POST')
    if (!owner)
      throw new HttpError(400, 'no_rollout', 'a call of the model belongs to a rollout', {
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
  server.maxConnections = MAX_REQUESTS
  if (!isLoopback(listen))
    throw new WaggleError('E_PORT', `agents.listen = "${listen}" can be reached by other machines`, {
      hint: 'Use 127.0.0.1; agents on other machines can come through ssh (`ssh -L`).',
    })
  url = await listenOn(server, { listen, what: 'agents', setting: 'agents.listen' })
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
  if (request.method !== wanted) throw new HttpError(405, 'wrong_method', `this path takes ${wanted} only`)
}

function unauthorized(message: string): HttpError {
  return new HttpError(401, 'unauthorized', message, {
    hint: 'Send "Authorization: Bearer …": the gateway\'s token, or the api_key of a rollout. A restart of the node ends all open rollouts.',
  })
}

function isModel(encoded: string, model: string): boolean {
  if (encoded === 'waggle' || encoded === model) return true
  try {
    return decodeURIComponent(encoded) === model
  } catch {
    return false
  }
}
