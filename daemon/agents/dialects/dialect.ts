// What the dialects share. A dialect turns a request into a prompt, and formats the recorded call as its API does.

import { isUtf8 } from 'node:buffer'
import type { Sampling } from '../../engine/engine.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { AgentRollout, Attempt, Call } from '../book/rollout.ts'
import type { CallRequest } from '../writing/attempts.ts'
import { booleanIn } from './request/objects.ts'

export type Body = Readonly<Record<string, unknown>>

export interface Prepared {
  /** Names of settings in the request that are not granted. */
  ignored: string[]
  stream: boolean
  /** A stream is lines of JSON. Otherwise it is server-sent events. */
  isLines?: boolean
  /** Called for a new call, but not for a retry. */
  make(): CallRequest
  answer(call: Call): object
  /** Events of a stream, in order. Each token of the answer is recorded before it is sent. */
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
  /**
   * The distribution of an answer that is only served, unless its request chooses another. Without it, all requests get
   * the node's temperature.
   */
  sampling?: Sampling | undefined
  /** Calls belong to no rollout. */
  isServed?: boolean
  /** The sampler can keep an answer to a grammar. */
  enforces: boolean
}

export interface DialectParts {
  tokenizer: Tokenizer
  /** Called with the names of settings that a request or its answer does not keep. */
  onUnkept?(names: readonly string[]): void
}

/** A prompt may continue the earlier calls of the one that asks. */
export type Asker = Pick<AgentRollout, 'calls'>

export type Dialect = (body: Body, asker: Asker) => Prepared

/** Log-probs in the shape of OpenAI's chat API. */
export function logprobsOf(
  { sample }: Call,
  tokenizer: Pick<Tokenizer, 'reader'>,
): { content: object[]; refusal: null } {
  const reader = tokenizer.reader()
  return {
    content: [...sample.tokens].map((token, i) => {
      const bytes = reader.read(token)
      return {
        ...{ token: textOf(bytes).text, logprob: sample.logprobs[i] },
        ...{ bytes: [...bytes], top_logprobs: [] },
      }
    }),
    refusal: null,
  }
}

/** A token's text. Bytes that are only a part of a character are written as \xf0\x9f; `isWhole` if there are none. */
export function textOf(bytes: Uint8Array): { text: string; isWhole: boolean } {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true })
  let [text, at] = ['', 0]
  let isWhole = true
  while (at < bytes.length) {
    const size = [4, 3, 2, 1].find(
      (length) => isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length,
    )
    text += size
      ? utf8.decode(bytes.subarray(at, at + size))
      : `\\x${bytes[at]!.toString(16).padStart(2, '0')}`
    isWhole &&= size !== undefined
    at += size ?? 1
  }
  return { text, isWhole }
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
