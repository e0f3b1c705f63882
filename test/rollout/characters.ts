// A tokenizer without a model: a character is a token, after four that stand for structure. Everything that the daemon
// asks of a tokenizer, so that a round can be tried in milliseconds.

import { createHash } from 'node:crypto'
import { createTokenReader } from '../../daemon/policy/tokens/reader.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'

export const END = 0
const [USER, ASSISTANT] = [1, 2]
const FIRST = 4

export function characterTokenizer(): Tokenizer {
  const encode = (text: string): Int32Array => around([], text, [])
  const isSpecial = (token: number): boolean => token < FIRST
  const decode = (tokens: Int32Array): string => {
    let text = ''
    for (const token of tokens) if (!isSpecial(token)) text += String.fromCodePoint(token - FIRST)
    return text
  }
  const around = (before: readonly number[], text: string, after: readonly number[]): Int32Array => {
    const tokens = [...before]
    for (const character of text) tokens.push(character.codePointAt(0)! + FIRST)
    tokens.push(...after)
    return Int32Array.from(tokens)
  }
  return {
    digest: createHash('sha256').update('characters').digest('hex'),
    stopTokens: [END],
    hasChatTemplate: true,
    encode,
    endOfTurn: () => END,
    encodeText: encode,
    encodePrompt: (question, examples = []) =>
      Int32Array.from([
        ...examples.flatMap((one) => [
          ...around([USER], one.question, [ASSISTANT]),
          ...around([], one.answer, [END]),
        ]),
        ...around([USER], question, [ASSISTANT]),
      ]),
    encodeReply: (observation) => around([USER], observation, [ASSISTANT]),
    encodeChat(messages, { prompt }) {
      const said = messages.flatMap(({ role, content }) =>
        role === 'assistant' ? [...around([ASSISTANT], content, [END])] : [...around([USER], content, [])],
      )
      return Int32Array.from(prompt ? [...said, ASSISTANT] : said)
    },
    encodeCompletion: (text, finish) => around([], text, finish === 'stop' ? [END] : []),
    decodeCompletion: decode,
    reader: () =>
      createTokenReader({
        ...{ bytesOf: () => undefined, isLeftOut: isSpecial },
        decode: (tokens) => decode(Int32Array.from(tokens)),
      }),
    isSpecial,
    // There are no grammars here.
    tokenBytes: (vocabulary) => ({ bytes: new Uint8Array(), ends: new Int32Array(vocabulary) }),
    pieces: (vocabulary) => Array.from({ length: vocabulary }, (_, token) => decode(Int32Array.of(token))),
  }
}
