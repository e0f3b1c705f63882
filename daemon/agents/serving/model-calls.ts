// The calls of the model's API, for a rollout or for a client that is only served: lists of models, answers, and
// questions that need no answer of the model.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpError, sendJson } from '../../http/index.ts'
import type { Attempt } from '../book/rollout.ts'
import type { Dialects } from '../dialects/all.ts'
import type { Asker, Body } from '../dialects/dialect.ts'
import { isNameOf } from '../dialects/request/wishes.ts'
import type { CallRequest, Identity } from '../writing/attempts.ts'
import { answerCall } from './calls.ts'
import { readObject } from './http.ts'
import { requireMethod } from './listener.ts'
import { listsOf, type ModelFacts, modelOf, shownOf } from './models.ts'

interface ModelOptions extends ModelFacts {
  /** Refuse requests that name another model. Otherwise that is ignored with a warning header. */
  requiresName?: boolean
}

/** By the path after the rollout, such as /v1/chat/completions. */
interface ModelParts extends Dialects {
  after(ms: number, run: () => void): () => void
}

/** Who asks, and what becomes of the calls. */
export interface From {
  asker: Asker
  call(identity: Identity, make: () => CallRequest): Attempt
}

export type ModelCalls = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  from: From,
) => Promise<void>

/** Ollama's question about a model. */
const SHOW = '/api/show'
/** The list of models, or one of them, whose id may hold slashes. */
const MODEL = /^\/v1\/models(\/.+|)$/

export function createModelCalls(
  { requiresName = false, ...facts }: ModelOptions,
  { dialects, questions, after }: ModelParts,
): ModelCalls {
  const { model } = facts
  const requireModel = ({ model: asked }: Body): void => {
    if (requiresName && asked !== undefined && asked !== '' && !isNameOf(asked, model))
      throw noModel(asked, model)
  }
  const lists = listsOf(facts)
  const asked = new Map([...questions, [SHOW, () => shownOf(facts)]])
  return async (request, response, path, { asker, call }) => {
    const [, named] = MODEL.exec(path) ?? []
    if (named) {
      requireMethod(request, 'GET')
      const name = decoded(named.slice(1))
      if (!isNameOf(name, model)) throw noModel(name, model)
      return sendJson(response, 200, modelOf(facts))
    }
    if (Object.hasOwn(lists, path)) {
      requireMethod(request, 'GET')
      return sendJson(response, 200, lists[path]!())
    }
    const [question, dialect] = [asked.get(path), dialects.get(path)]
    if (!question && !dialect) {
      const known = [...Object.keys(lists), ...dialects.keys(), ...asked.keys()].join(', ')
      throw new HttpError(404, 'unknown_path', `there is no ${path.slice(0, 120)}`, {
        hint: `Paths: ${known}.`,
      })
    }
    requireMethod(request, 'POST')
    const read = await readObject(request)
    requireModel(read.body)
    if (question) return sendJson(response, 200, question(read.body, asker))
    await answerCall(request, response, { ...read, path, dialect: dialect!, asker, call, after })
  }
}

function noModel(name: unknown, model: string): HttpError {
  const shown = typeof name === 'string' ? `"${name.slice(0, 120)}"` : 'of that name'
  return new HttpError(404, 'model_not_found', `there is no model ${shown}`, {
    hint: `This node serves "${model}", its present policy, also as "waggle". \`waggle serve MODEL\` serves another one.`,
  })
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
