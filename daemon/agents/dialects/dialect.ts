// What the dialects share. A dialect turns a request into a prompt, and formats the recorded call as its API does.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { AgentRollout, Attempt, Call } from '../book/rollout.ts'
import type { CallRequest } from '../writing/caller.ts'
import { booleanIn } from './objects.ts'

export type Body = Readonly<Record<string, unknown>>

export interface Prepared {
  /** Names of settings in the request that are not granted. */
  ignored: string[]
  stream: boolean
  /** Called for a new call, but not for a retry. */
  make(): CallRequest
  answer(call: Call): object
  /** Server-sent events, in order. Each token of the answer is recorded before it is sent. */
  events(attempt: Attempt): AsyncGenerator<ServerEvent>
  /** An event that tells nothing, sent while an answer is written of which nothing can be told yet. */
  idle?(attempt: Attempt): ServerEvent
}

export interface ServerEvent {
  event?: string
  /** Sent as JSON; a string is sent as it is. */
  data: object | string
}

export interface DialectOptions {
  strict: boolean
  temperature: number
  /** Most tokens of one answer. */
  maxNewTokens: number
  model: string
}

export interface DialectParts {
  tokenizer: Tokenizer
  /** Called with the names of settings that a request or its answer does not keep. */
  onUnkept?(names: readonly string[]): void
}

export type Dialect = (body: Body, rollout: AgentRollout) => Prepared

/** Log-probs in the shape of OpenAI's chat API. */
export function logprobsOf(
  { sample }: Call,
  { decodeCompletion }: Pick<Tokenizer, 'decodeCompletion'>,
): object {
  return {
    content: [...sample.tokens].map((token, i) => {
      const text = decodeCompletion(Int32Array.of(token))
      return { token: text, logprob: sample.logprobs[i], bytes: [...Buffer.from(text)], top_logprobs: [] }
    }),
    refusal: null,
  }
}

export function usageOf({ prompt, sample }: Call): object {
  const [before, after] = [prompt.length, sample.tokens.length]
  return {
    prompt_tokens: before,
    prompt_tokens_details: { cached_tokens: sample.reused ?? 0 },
    completion_tokens: after,
    total_tokens: before + after,
  }
}

/** What an answer contains besides the fields that OpenAI defines. A long prompt's ids are sent if they are asked for. */
export function recordOf({ prompt, sample }: Call, body: Body): object {
  return {
    ...(booleanIn(body, 'return_token_ids') ? { prompt_token_ids: [...prompt] } : {}),
    weight_version: sample.version,
  }
}

export function secondsOf({ at }: Pick<Call, 'at'>): number {
  return Math.floor(at / 1000)
}

export function finishOf({ sample }: Call): 'stop' | 'length' {
  return sample.finish === 'length' ? 'length' : 'stop'
}
