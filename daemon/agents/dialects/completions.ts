// OpenAI's completions API: continues text or token ids.

import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Attempt, Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import { promptTokens } from '../writing/continue.ts'
import {
  type Asker,
  type Body,
  type Dialect,
  type DialectOptions,
  type DialectParts,
  finishOf,
  recordOf,
  type ServerEvent,
  secondsOf,
  textOf,
  usageOf,
} from './dialect.ts'
import { liveContent } from './live.ts'
import { GUIDES } from './request/format.ts'
import { booleanIn } from './request/objects.ts'
import { NO_TOOLS } from './request/offered.ts'
import { wantedIn } from './request/wanted.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn, stopIn } from './request/wishes.ts'

const FIELDS: Record<string, Rule> = {
  ...{ prompt: 'read', max_tokens: 'read', stop: 'read', logprobs: 'read' },
  ...{ response_format: 'read', ...GUIDES },
  echo: (value) => value === false,
}

export function createCompletions(options: DialectOptions, { tokenizer, onUnkept }: DialectParts): Dialect {
  return (body: Body, asker: Asker) => {
    const given = promptIn(body.prompt)
    const stop = stopIn(body)
    const maxNewTokens = limitIn(body, 'max_tokens')
    const sampling = samplingIn(body, options)
    // A number of further tokens to tell about, or true from clients of the chat API.
    const withLogprobs = Number.isInteger(body.logprobs) || body.logprobs === true
    const wanted = wantedIn(body, NO_TOOLS, { ...options, format: body.response_format })
    const ignored = ignoredWishes(body, FIELDS, options, wanted.ignored)
    const headOf = (one: Pick<Call, 'id' | 'at'>): object => ({
      id: `cmpl-${one.id}`,
      object: 'text_completion',
      created: secondsOf(one),
      model: options.model,
    })
    const restOf = (call: Call): object => ({
      finish_reason: finishOf(call),
      logprobs: withLogprobs ? logprobsOf(call, tokenizer) : null,
      token_ids: [...call.sample.tokens],
    })

    async function* events(attempt: Attempt): AsyncGenerator<ServerEvent> {
      const chunk = (text: string, rest: object = { finish_reason: null, logprobs: null }): object => ({
        ...headOf(attempt),
        choices: [{ index: 0, text, ...rest }],
      })
      for await (const piece of liveContent(attempt, { tools: [], stop }, tokenizer))
        yield { data: chunk(piece) }
      const call = await attempt.done
      yield {
        data: {
          ...chunk('', restOf(call)),
          ...recordOf(call, body),
          usage: usageOf(call),
        },
      }
      yield { data: '[DONE]' }
    }

    return {
      ignored,
      stream: booleanIn(body, 'stream'),
      make() {
        onUnkept?.(ignored)
        const wishes = { ...wanted.request({}, onUnkept), stop, maxNewTokens, sampling }
        if (typeof given !== 'string') return { prompt: given, ...wishes }
        const encode = (text: string): Int32Array => tokenizer.encodeText(text)
        return {
          prompt: promptTokens(given, asker.calls, { tokenizer, encode }),
          promptText: given,
          asked: given,
          ...wishes,
        }
      },
      answer: (call) => ({
        ...headOf(call),
        choices: [{ index: 0, text: call.shown, ...restOf(call) }],
        usage: usageOf(call),
        ...recordOf(call, body),
      }),
      events,
    }
  }
}

function promptIn(prompt: unknown): string | Int32Array {
  const one =
    Array.isArray(prompt) && prompt.length === 1 && typeof prompt[0] !== 'number' ? prompt[0] : prompt
  return typeof one === 'string' && one !== ''
    ? one
    : tokensIn(one, '"prompt" must be one text or one list of token ids')
}

export function tokensIn(given: unknown, otherwise: string): Int32Array {
  if (
    !Array.isArray(given) ||
    given.length === 0 ||
    !given.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31)
  )
    throw invalid(otherwise)
  return Int32Array.from(given as number[])
}

/** `text_offset` is where the first character begins to which a token belongs, in characters of Unicode. */
function logprobsOf({ sample }: Call, tokenizer: Pick<Tokenizer, 'reader'>): object {
  const reader = tokenizer.reader()
  const tokens: string[] = []
  const offsets: number[] = []
  let [at, seen] = [0, 0]
  for (const token of sample.tokens) {
    for (const _ of reader.text.slice(seen)) at += 1
    seen = reader.text.length
    offsets.push(at)
    const { text, isWhole } = textOf(reader.read(token))
    tokens.push(isWhole ? text : `bytes:${text}`)
  }
  return { tokens, token_logprobs: [...sample.logprobs], top_logprobs: null, text_offset: offsets }
}
