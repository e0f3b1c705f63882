// Serving: answers to a person or a program that belong to no rollout, at an address and with a key of their own. They are
// trained on only if they are kept and rated.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServingInfo } from '../../../protocol/api/index.ts'
import { requireMeant, sendJson } from '../../http/index.ts'
import { feedback } from '../kept/asked.ts'
import type { KeyName } from '../kept/conversation.ts'
import { type Conversations, notKept } from '../kept/conversations.ts'
import type { Keep } from '../kept/keeping.ts'
import type { Served } from '../writing/served.ts'
import { readObject } from './http.ts'
import { type Listener, openListener, requireKey, requireMethod } from './listener.ts'
import type { ModelCalls } from './model-calls.ts'
import { FEEDBACK_PATH } from './shapes.ts'

export interface ServingOptions {
  /** host:port; undefined if only the agents' gateway answers such calls. */
  listen: string | undefined
  /** Allow an address that other machines can reach, without encryption. */
  isPublic: boolean
  /** Web pages of these origins may use it. */
  origins: readonly string[]
  model: string
  context: number
}

interface ServingParts {
  key(): string
  served: Served
  modelCalls: ModelCalls
  conversations?: Conversations
  /** Keeps an answer that was given to this key. */
  keep?: Keep
  onBug(error: unknown, path: string): void
  requestId(): string
}

export interface Serving {
  readonly url: string | undefined
  /** Answers a request with this key. `path` begins with /v1/ or /api/. */
  answer(request: IncomingMessage, response: ServerResponse, path: string, key: KeyName): Promise<void>
  info(): ServingInfo
  close(): Promise<void>
}

const KEY_HINT =
  'Send "Authorization: Bearer …" or "x-api-key" with the serving key: the file serve.key in the node\'s home.'

export async function openServing(
  { listen, isPublic, origins, model, context }: ServingOptions,
  { key, served, modelCalls, conversations, keep, ...by }: ServingParts,
): Promise<Serving> {
  const answer: Serving['answer'] = async (request, response, path, by) => {
    if (path === FEEDBACK_PATH) {
      requireMethod(request, 'POST')
      if (!conversations?.isOn) throw notKept()
      return sendJson(response, 200, await feedback((await readObject(request)).body, by, conversations))
    }
    await modelCalls(request, response, path, {
      asker: { calls: [] },
      call: (identity, make) =>
        served.call(identity, make, keep && { keep: (asked, call) => keep(by, asked, call) }),
    })
  }
  let listener: Listener | undefined
  if (listen !== undefined) {
    requireMeant('serve', { listen, public: isPublic })
    const known = key()
    listener = await openListener(
      { listen, origins, what: 'the model', setting: 'serve.listen' },
      {
        ...by,
        async answer(request, response, path) {
          requireKey(request, known, { hint: KEY_HINT })
          await answer(request, response, path, 'serve')
        },
      },
    )
  }
  return {
    url: listener?.url,
    answer,
    info: () => ({
      ...(listener ? { listen: listener.url } : {}),
      model,
      maxTokens: context,
      ...served.info(),
      ...learning(conversations),
    }),
    async close() {
      await listener?.close()
    },
  }
}

function learning(conversations: Conversations | undefined): Pick<ServingInfo, 'learning'> {
  const learning = conversations?.info()
  return learning ? { learning } : {}
}
