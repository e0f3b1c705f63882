// The calls of the model's API, for a rollout or for a client that is only served: lists of models, answers, and
// questions that need no answer of the model.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpError, sendJson } from '../../http/index.ts'
import type { Attempt } from '../book/rollout.ts'
import type { Dialects } from '../dialects/all.ts'
import type { Asker } from '../dialects/dialect.ts'
import { isNameOf } from '../dialects/request/wishes.ts'
import type { CallRequest, Identity } from '../writing/attempts.ts'
import { answerCall } from './calls.ts'
import { readObject } from './http.ts'
import { requireMethod } from './listener.ts'
import { LISTS, type ModelFacts, modelOf, shownOf } from './models.ts'

interface ModelOptions extends ModelFacts {
  /** Refuse requests that name another model. Otherwise that is ignored with a warning header. */
  requiresName?: boolean
}

/** By the path after the rollout, such as /v1/chat/completions. */
interface ModelParts extends Dialects {
  after(ms: number, run: () => void): () => void
  others?: OtherModels | undefined
}

/** Models that are answered by besides the first. */
export interface OtherModels {
  /** Their names now. */
  names(): Promise<readonly string[]>
  /** `name` is one of those. */
  of(name: string): Dialects & Pick<From, 'call'>
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
  { dialects, questions, after, others }: ModelParts,
): ModelCalls {
  const { model } = facts
  /** The name of another model that is asked for; undefined for the first. */
  const otherIn = async (asked: unknown): Promise<string | undefined> => {
    if (!requiresName || asked === undefined || asked === '' || isNameOf(asked, model)) return undefined
    const names = (await others?.names()) ?? []
    const name = names.find((one) => isNameOf(asked, one) && asked !== 'waggle' && asked !== 'waggle:latest')
    if (name === undefined) throw noModel(asked, [model, ...names])
    return name
  }
  const factsOf = (name: string): ModelFacts => ({ ...facts, model: name })
  const allFacts = async (): Promise<ModelFacts[]> => [facts, ...((await others?.names()) ?? []).map(factsOf)]
  return async (request, response, path, { asker, call }) => {
    const [, named] = MODEL.exec(path) ?? []
    if (named) {
      requireMethod(request, 'GET')
      const name = decoded(named.slice(1))
      const found = (await allFacts()).find((one) => isNameOf(name, one.model))
      if (!found)
        throw noModel(
          name,
          (await allFacts()).map((one) => one.model),
        )
      return sendJson(response, 200, modelOf(found))
    }
    if (Object.hasOwn(LISTS, path)) {
      requireMethod(request, 'GET')
      return sendJson(response, 200, LISTS[path]!(await allFacts()))
    }
    if (path !== SHOW && !questions.has(path) && !dialects.has(path)) {
      const known = new Set([...Object.keys(LISTS), ...dialects.keys(), ...questions.keys(), SHOW])
      throw new HttpError(404, 'unknown_path', `there is no ${path.slice(0, 120)}`, {
        hint: `Paths: ${[...known].join(', ')}.`,
      })
    }
    requireMethod(request, 'POST')
    const read = await readObject(request)
    const name = await otherIn(read.body.model)
    if (path === SHOW) return sendJson(response, 200, shownOf(name === undefined ? facts : factsOf(name)))
    const by = name === undefined ? { dialects, questions, call } : others!.of(name)
    const known = by.questions.get(path)?.(read.body, asker)
    if (known) return sendJson(response, 200, known)
    const dialect = by.dialects.get(path)!
    await answerCall(request, response, { ...read, path, dialect, asker, call: by.call, after })
  }
}

function noModel(name: unknown, [model, ...others]: readonly string[]): HttpError {
  const shown = typeof name === 'string' ? `"${name.slice(0, 120)}"` : 'of that name'
  return new HttpError(404, 'model_not_found', `there is no model ${shown}`, {
    hint: `This node serves "${model}", its present policy, also as "waggle"${others.map((one) => `, "${one}"`).join('')}. \`waggle serve MODEL\` serves another one.`,
  })
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
