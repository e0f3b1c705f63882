// The gateway's server for agents, on loopback. The gateway's token opens rollouts, and is answered without one; a
// rollout's key gives access to that rollout only. The server sends no CORS headers and refuses requests from web pages.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpError, isSameToken, requireMeant, sendJson, tokenIn } from '../../http/index.ts'
import type { Book } from '../book/book.ts'
import type { AgentRollout } from '../book/rollout.ts'
import type { Caller } from '../writing/caller.ts'
import { readObject } from './http.ts'
import { type Listener, openListener, requireMethod, unauthorized } from './listener.ts'
import type { ModelCalls } from './model-calls.ts'
import { callsOf, openRequest, outcomeIn, rewardIn, stateOf } from './rollouts.ts'
import type { Serving } from './serving.ts'
import { FEEDBACK_PATH, gatewayApi } from './shapes.ts'

export interface ServerOptions {
  listen: string
  /** Most tokens of a conversation, and of the model's context. */
  context: number
  modelContext: number
}

export interface ServerParts {
  token: string
  book: Book
  caller: Caller
  modelCalls: ModelCalls
  /** Answers calls with the gateway's token that belong to no rollout, and takes their ratings. */
  serving: Pick<Serving, 'answer'>
  isTask(name: string): boolean
  /** Waits until another group may begin. Throws 429 if that takes too long. */
  room(): Promise<void>
  /** Called with errors that are bugs. */
  onBug(error: unknown, path: string): void
  requestId(): string
}

const KEY_HINT =
  'Send "Authorization: Bearer …": the gateway\'s token, or the api_key of a rollout. A restart of the node ends all open rollouts.'
/** A rollout's path: its id, and the path within it. */
const OF_ROLLOUT = /^\/rollouts\/([\w-]{1,64})(\/.*)$/
const ACTION = /^\/v1\/rollouts\/([\w-]{1,64})(\/calls|\/reward|\/finish)?$/

export async function openServer(
  { listen, context, modelContext }: ServerOptions,
  parts: ServerParts,
): Promise<Listener> {
  const { book, token } = parts
  let url = ''

  /** The rollout that the request's key belongs to; undefined for the gateway's token. */
  const ownerOf = (request: IncomingMessage): AgentRollout | undefined => {
    const given = tokenIn(request)
    if (given === undefined) throw unauthorized('a key is required', KEY_HINT)
    if (isSameToken(given, token)) return undefined
    const rollout = book.byKey(given)
    if (!rollout) throw unauthorized('unknown key', KEY_HINT)
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
    const asked = openRequest((await readObject(request)).body, parts.isTask)
    if (book.begins(asked)) await parts.room()
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
    requireMethod(request, action === '/reward' || action === '/finish' ? 'POST' : 'GET')
    const rollout = rolloutOf(request, id)
    if (action === '/calls') return sendJson(response, 200, callsOf(rollout))
    if (action === '/reward') await book.reward(rollout, rewardIn((await readObject(request)).body))
    if (action === '/finish') book.finish(rollout, outcomeIn((await readObject(request)).body))
    sendJson(response, 200, stateOf(rollout))
  }

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string): Promise<void> => {
    if (path === '/openapi.json') return sendJson(response, 200, gatewayApi())
    if (path === '/v1/rollouts') {
      requireMethod(request, 'POST')
      return await open(request, response)
    }
    if (path === FEEDBACK_PATH && ownerOf(request))
      throw new HttpError(403, 'forbidden', 'a rollout is rewarded at /v1/rollouts/{id}/reward')
    const [, acted, action = ''] = ACTION.exec(path) ?? []
    if (acted !== undefined) return await act(request, response, acted, action)
    const [, id, rest = path] = OF_ROLLOUT.exec(path) ?? []
    const rollout = id === undefined ? ownerOf(request) : rolloutOf(request, id)
    if (!rollout) return await parts.serving.answer(request, response, rest, 'agents')
    await parts.modelCalls(request, response, rest, {
      asker: rollout,
      call: (identity, make) => parts.caller.call(rollout, identity, make),
    })
  }

  requireMeant('agents', { listen })
  const listener = await openListener(
    { listen, what: 'the gateway', setting: 'agents.listen' },
    { answer, onBug: parts.onBug, requestId: parts.requestId },
  )
  url = listener.url
  return listener
}
