// Turns a line of `waggle score` into a context and the tokens to score: token IDs directly, text and conversations
// with the tokenizer.

import type { DecoderSpec } from '../../../engine/decoder.ts'
import type { Score } from '../../../engine/engine.ts'
import type { ChatMessage } from '../../../policy/chat/template.ts'
import { batchTokens, type ScoredSequence, scoreSequences } from '../../../policy/score.ts'
import type { Tokenizer } from '../../../policy/tokens/tokenizer.ts'
import { type InputLine, lineError } from './input-lines.ts'

export type Reading = (line: InputLine) => ScoredSequence

/** `{"ids": [...]}`: the first token is the context, the others are scored. */
export function readIds(spec: DecoderSpec): Reading {
  return ({ number, value: { ids } }) => {
    if (!Array.isArray(ids)) throw lineError(number, '"ids" must be a list of token IDs')
    const wrong = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= spec.vocabulary)
    if (wrong !== undefined)
      throw lineError(
        number,
        `${JSON.stringify(wrong)} is not a token ID; IDs go from 0 to ${spec.vocabulary - 1}`,
      )
    return checked(number, spec, ids.slice(0, 1), ids.slice(1))
  }
}

/** `{"text": "..."}` scores all but the first token; `{"prompt": "...", "completion": "..."}` the completion. */
export function readText(spec: DecoderSpec, tokenizer: Tokenizer): Reading {
  return ({ number, value: { text, prompt, completion } }) => {
    if (typeof prompt === 'string' && typeof completion === 'string') {
      return checked(number, spec, tokenizer.encodeText(prompt), tokenizer.encode(completion))
    }
    if (typeof text !== 'string') throw lineError(number, '"text", or "prompt" with "completion", is missing')
    const ids = tokenizer.encodeText(text)
    return checked(number, spec, ids.slice(0, 1), ids.slice(1))
  }
}

/** `{"messages": [...]}`: scores the last message, which must be the assistant's, and its end-of-turn token. */
export function readChat(spec: DecoderSpec, tokenizer: Tokenizer): Reading {
  return ({ number, value: { messages } }) => {
    if (!Array.isArray(messages) || !messages.every(isMessage))
      throw lineError(number, '"messages" must be a list of {"role", "content"} with text')
    const last = messages.at(-1)
    if (last?.role !== 'assistant') throw lineError(number, "the last message must be the assistant's")
    return checked(
      number,
      spec,
      tokenizer.encodeChat(messages.slice(0, -1), { prompt: true }),
      tokenizer.encodeCompletion(last.content, 'stop'),
    )
  }
}

/** Yields one result per line, in order, as soon as each window is scored. */
export async function* scoreLines(
  windows: AsyncIterable<readonly InputLine[]>,
  { read, showIds }: { read: Reading; showIds: boolean },
  { spec, engine }: { spec: DecoderSpec; engine: Parameters<typeof scoreSequences>[2]['engine'] },
): AsyncGenerator<string> {
  for await (const lines of windows) {
    const sequences: ScoredSequence[] = []
    let failure: unknown
    for (const line of lines) {
      try {
        sequences.push(read(line))
      } catch (error) {
        failure = error
        break
      }
    }
    const scores = await scoreSequences(sequences, { tokens: batchTokens(spec) }, { engine })
    for (const [i, score] of scores.entries()) {
      yield JSON.stringify({ ...(showIds ? { ids: [...sequences[i]!.completion] } : {}), ...answer(score) })
    }
    if (failure !== undefined) throw failure
  }
}

function answer({ logprobs, entropies }: Score): { logprobs: number[]; entropy: number[] } {
  return { logprobs: Array.from(logprobs, short), entropy: Array.from(entropies, short) }
}

/** Nine digits identify a 32-bit float exactly. */
const short = (value: number): number => Number(value.toPrecision(9))

function checked(
  number: number,
  { contextLength }: DecoderSpec,
  conditioning: ArrayLike<number>,
  completion: ArrayLike<number>,
): ScoredSequence {
  if (conditioning.length === 0) throw lineError(number, 'there is no context before the tokens to score')
  const length = conditioning.length + completion.length
  if (length > contextLength)
    throw lineError(number, `${length} tokens, but the context of the model has only ${contextLength}`)
  return { conditioning: Int32Array.from(conditioning), completion: Int32Array.from(completion) }
}

function isMessage(value: unknown): value is ChatMessage {
  const { role, content } = (value ?? {}) as Record<string, unknown>
  return (role === 'system' || role === 'user' || role === 'assistant') && typeof content === 'string'
}
