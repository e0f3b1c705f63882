// Text to token ids and back, for one model: Hugging Face's tokenizer files and its chat template.
//
// The digest names the mapping. Token ids and log-probs of another node mean something here only if it is the same.

import { createHash } from 'node:crypto'
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import type { Finish } from '../../protocol/train/index.ts'
import { askThrough, replyThrough, SYSTEM } from './chat-prompts.ts'
import { type ChatMessage, createChatTemplate } from './chat-template.ts'
import { withDeadline } from './deadline.ts'
import type { JsonObject } from './model-files.ts'
import { namedTokens, stopTokens as stopTokensOf } from './special-tokens.ts'

export interface TokenizerFiles {
  /** Parsed tokenizer.json. */
  tokenizer: JsonObject
  /** Parsed tokenizer_config.json. */
  config: JsonObject
  /** Parsed generation_config.json and config.json: where `eos_token_id` may be a number or a list. */
  generation: JsonObject | readonly (JsonObject | undefined)[]
  /** Parsed special_tokens_map.json. */
  specialTokens?: JsonObject | undefined
  /** chat_template.jinja, which counts more than the one in tokenizer_config.json. */
  chatTemplate?: string | undefined
}

export interface Tokenizer {
  /** SHA-256, 64 hex digits, over vocabulary, merges, added tokens, chat template and system prompt. */
  readonly digest: string
  /** Tokens that end a completion; at least one. */
  readonly stopTokens: readonly number[]
  readonly hasChatTemplate: boolean
  /** A question as the model is asked it, up to where its completion begins. */
  encodePrompt(question: string): Int32Array
  /**
   * What stands between an answer, its end-of-sequence token included, and where the next answer begins, when the other
   * side says this in between.
   */
  encodeReply(observation: string): Int32Array
  /** A conversation; with `prompt`, up to where the model's next answer begins. Throws E_MODEL without a template. */
  encodeChat(messages: readonly ChatMessage[], options: { prompt: boolean }): Int32Array
  /** A completion's text; ends with the first stop token if it finished by itself. */
  encodeCompletion(text: string, finish: Finish): Int32Array
  /** A completion's text, without stop tokens and other special ones. */
  decodeCompletion(tokens: Int32Array): string
  encode(text: string): Int32Array
  /** Text by itself, with the tokens that the model expects around it, such as its first one. */
  encodeText(text: string): Int32Array
  /** The text that each of the first `vocabulary` ids stands for by itself; nothing for special ones. */
  pieces(vocabulary: number): string[]
  /** True for tokens that stand for structure, not for text, and for ids that stand for nothing. */
  isSpecial(token: number): boolean
}

/** Of the wall clock, and a thread on a busy machine may have to wait for a second by itself. */
const LIMIT_MS = 5000

export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const { tokenizer, config } = files
  const core = attempt('tokenizer.json', () => new HuggingFaceTokenizer(tokenizer, config))
  const places = {
    ids: Array.isArray(files.generation) ? files.generation : [files.generation as JsonObject],
    texts: [config, files.specialTokens],
  }
  const stopTokens = stopTokensOf(places, core)
  if (stopTokens.length === 0) {
    throw new WaggleError('E_MODEL', 'the model names no end-of-sequence token', {
      hint: 'generation_config.json or config.json needs "eos_token_id", or tokenizer_config.json an "eos_token".',
    })
  }
  const source = files.chatTemplate ?? templateOf(config)
  const template = source === undefined ? undefined : createChatTemplate(source, namedTokens(places))
  const ask = template && askThrough(template)
  let reply: { before: string; after: string } | undefined
  const stops = new Set(stopTokens)
  const special = new Set(
    [...core.get_added_tokens_decoder()].filter(([, token]) => token.special).map(([id]) => id),
  )
  const run = (text: string, add_special_tokens: boolean): Int32Array =>
    attempt('tokenizer.json', () => Int32Array.from(core.encode(text, { add_special_tokens }).ids))
  const encode = (text: string): Int32Array => run(text, false)

  const isSpecial = (token: number): boolean =>
    stops.has(token) || special.has(token) || core.id_to_token(token) === undefined
  const decode = (tokens: number[]): string =>
    core.decode(tokens, { skip_special_tokens: true, clean_up_tokenization_spaces: false })

  return {
    digest: createHash('sha256')
      .update(JSON.stringify([tokenizer, source ?? null, stopTokens, SYSTEM]))
      .digest('hex'),
    stopTokens,
    hasChatTemplate: template !== undefined,
    encode,
    encodeText: (text) => run(text, true),
    isSpecial,
    pieces(vocabulary) {
      const ids = Array.from({ length: vocabulary }, (_, token) => token)
      // After another token, since some decoders take the space from a text's beginning.
      const anchor = ids.find((token) => !isSpecial(token) && /^\w+$/.test(decode([token])))
      const before = anchor === undefined ? [] : [anchor]
      const { length } = decode(before)
      return ids.map((token) => (isSpecial(token) ? '' : decode([...before, token]).slice(length)))
    },
    encodePrompt: (question) => encode(ask ? ask(question) : `${question}\n`),
    encodeReply(observation) {
      reply ??= template ? replyThrough(template) : { before: '\n', after: '\n' }
      const tokens = encode(`${reply.before}${observation}${reply.after}`)
      // The template closes the answer with a token that the policy has written already.
      return template && stops.has(tokens[0]!) ? tokens.subarray(1) : tokens
    },
    encodeChat(messages, options) {
      if (template) return encode(template.render(messages, options))
      throw new WaggleError('E_MODEL', 'the model has no chat template', {
        hint: 'It continues text and does not converse: use `waggle generate` or --text.',
      })
    },
    encodeCompletion(text, finish) {
      const tokens = encode(text)
      return finish === 'stop' ? Int32Array.from([...tokens, stopTokens[0]!]) : tokens
    },
    decodeCompletion(tokens) {
      const kept = [...tokens].filter((token) => !stops.has(token))
      if (kept.length === 0) return ''
      return decode(kept)
    },
  }
}

function templateOf(config: JsonObject): string | undefined {
  const { chat_template: template } = config
  if (typeof template === 'string') return template
  // Several templates by name: the one called "default" is for plain chat.
  if (Array.isArray(template)) {
    const entry = template.find((item) => (item as { name?: unknown })?.name === 'default')
    const text = (entry as { template?: unknown } | undefined)?.template
    if (typeof text === 'string') return text
  }
  return undefined
}

/** Its regular expressions are the file's, and may take for ever. */
function attempt<Result>(what: string, build: () => Result): Result {
  try {
    return withDeadline(what, LIMIT_MS, build)
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    const reason = cause instanceof Error ? cause.message.split('\n')[0]! : String(cause)
    throw new WaggleError(
      'E_MODEL',
      `${what} cannot be used: ${safeText(reason, { limit: 160, line: true })}`,
      { hint: 'It must be in the format of Hugging Face tokenizers. Download the model again.', cause },
    )
  }
}
