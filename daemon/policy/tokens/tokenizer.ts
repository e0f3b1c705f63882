// Converts between text and token ids for one model, using Hugging Face's tokenizer files and its chat template.
//
// The digest identifies the mapping. Another node's token ids and log-probs are only meaningful here if its digest is
// the same.

import { createHash } from 'node:crypto'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Example, Finish } from '../../../protocol/train/index.ts'
import { withDeadline } from '../chat/deadline.ts'
import { askThrough, replyThrough, SYSTEM } from '../chat/prompts.ts'
import { type ChatMessage, type ChatTemplate, createChatTemplate } from '../chat/template.ts'
import type { JsonObject } from '../files/model-files.ts'
import { openTokenizer } from './library.ts'
import { byteReader, createTokenReader, type TokenReader } from './reader.ts'
import { namedTokens, stopTokens as stopTokensOf } from './special-tokens.ts'
import { createTokenTexts, type TokenTexts } from './token-texts.ts'

export interface TokenizerFiles {
  /** Parsed tokenizer.json. */
  tokenizer: JsonObject
  /** Parsed tokenizer_config.json. */
  config: JsonObject
  /** Parsed generation_config.json and config.json, where `eos_token_id` may be a number or a list. */
  generation: JsonObject | readonly (JsonObject | undefined)[]
  /** Parsed special_tokens_map.json. */
  specialTokens?: JsonObject | undefined
  /** chat_template.jinja, which takes precedence over the one in tokenizer_config.json. */
  chatTemplate?: string | undefined
}

export interface Tokenizer extends TokenTexts {
  /** SHA-256, 64 hex digits, over vocabulary, merges, added tokens, chat template and system prompt. */
  readonly digest: string
  /** Tokens that end a completion; at least one. */
  readonly stopTokens: readonly number[]
  readonly hasChatTemplate: boolean
  readonly template?: ChatTemplate | undefined
  /** False if the text certainly contains no special token. Faster than encoding it. */
  mayHoldSpecial?(text: string): boolean
  /**
   * The whole prompt for a question, with its examples, up to where the completion begins. Without a chat template, it
   * begins as text outside a chat does.
   */
  encodePrompt(question: string, examples?: readonly Example[]): Int32Array
  /** The tokens between an answer (with its end token) and the next one, given this observation of the environment. */
  encodeReply(observation: string): Int32Array
  /**
   * Encodes a conversation; with `prompt`, up to where the model's next answer begins. Throws E_MODEL if there is no
   * chat template.
   */
  encodeChat(messages: readonly ChatMessage[], options: { prompt: boolean }): Int32Array
  /** The token that ends an answer: that of the chat template, because a list of stop tokens may begin with the end of a text. */
  endOfTurn(): number
  /** A completion's text, plus the token that ends an answer if `finish` is 'stop'. */
  encodeCompletion(text: string, finish: Finish): Int32Array
  /** A completion's text without special tokens. */
  decodeCompletion(tokens: Int32Array): string
  /** Reads a completion token by token. */
  reader(): TokenReader
  encode(text: string): Int32Array
  /** Text outside a chat, with the tokens that the model expects around it, such as BOS. */
  encodeText(text: string): Int32Array
  /** True for special tokens and for ids outside the vocabulary. */
  isSpecial(token: number): boolean
}

/**
 * Limits in processor time. Reading 250,000 tokens takes 0.5 s on a server core, and maybe ten times that on a small
 * board.
 */
const MAX_MS = { read: 30_000, encode: 5000 }

export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const { tokenizer, config } = files
  const core = attempt('tokenizer.json', MAX_MS.read, () => openTokenizer(tokenizer, config))
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
  const source = files.chatTemplate ?? templateOf(config, 'default')
  // chat_template.jinja replaces all templates of tokenizer_config.json.
  const toolUse = files.chatTemplate === undefined ? templateOf(config, 'tool_use') : undefined
  const template =
    source === undefined ? undefined : createChatTemplate(source, namedTokens(places), { toolUse })
  const ask = template && askThrough(template)
  let reply: { before: string; after: string } | undefined
  const stops = new Set(stopTokens)
  const added = [...core.get_added_tokens_decoder()]
  const special = new Set(added.filter(([, token]) => token.special).map(([id]) => id))
  // A token that is matched in normalised text may be spelt in other ways, so then any text may contain one.
  const marked = added.filter(([id]) => special.has(id) || stops.has(id))
  const marks = marked.map(([, { content }]) => content)
  const isExact =
    marked.every(([, { normalized }]) => !normalized) &&
    stopTokens.every((stop) => marked.some(([id]) => id === stop))
  const run = (text: string, add_special_tokens: boolean): Int32Array =>
    attempt('tokenizer.json', MAX_MS.encode, () =>
      Int32Array.from(core.encode(text, { add_special_tokens }).ids),
    )
  const encode = (text: string): Int32Array => run(text, false)
  /** What the tokenizer puts before text outside a chat, such as Gemma's BOS. A template has it itself. */
  const opening = template ? [] : [...run('', true)].filter((token) => !stops.has(token))

  const endOfTurn = endOfTurnOf(template, { encode, stopTokens })

  const isSpecial = (token: number): boolean =>
    stops.has(token) || special.has(token) || core.id_to_token(token) === undefined
  /** Leaves out special tokens. The library's own option compares each token with every special one. */
  const decode = (tokens: number[]): string => {
    const kept = tokens.filter((token) => !special.has(token))
    return kept.length === 0 ? '' : core.decode(kept, { clean_up_tokenization_spaces: false })
  }

  const readPiece = byteReader(tokenizer.decoder)
  const plain = new Set(added.map(([id]) => id))
  const bytesOf = (token: number): Uint8Array | undefined => {
    const piece = plain.has(token) ? undefined : core.id_to_token(token)
    return piece === undefined ? undefined : readPiece(piece)
  }
  const isLeftOut = (token: number): boolean => stops.has(token) || special.has(token)

  return {
    digest: createHash('sha256')
      .update(
        JSON.stringify([
          tokenizer,
          source ?? null,
          stopTokens,
          SYSTEM,
          ...(toolUse === undefined ? [] : [toolUse]),
          // Older versions began without it.
          ...(opening.length === 0 ? [] : [opening]),
        ]),
      )
      .digest('hex'),
    stopTokens,
    hasChatTemplate: template !== undefined,
    template,
    mayHoldSpecial: (text) => !isExact || marks.some((mark) => text.includes(mark)),
    encode,
    encodeText: (text) => run(text, true),
    endOfTurn,
    isSpecial,
    ...createTokenTexts({ isSpecial, bytesOf, decode }),
    encodePrompt: (question, examples = []) =>
      ask
        ? encode(ask(question, examples))
        : Int32Array.from([...opening, ...encode(asLines(question, examples))]),
    encodeReply(observation) {
      reply ??= template ? replyThrough(template) : { before: '\n', after: '\n' }
      const tokens = encode(`${reply.before}${observation}${reply.after}`)
      // The template's text starts with the answer's end token, which the policy has already written.
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
      return finish === 'stop' ? Int32Array.from([...tokens, endOfTurn()]) : tokens
    },
    decodeCompletion: (tokens) => decode([...tokens].filter((token) => !stops.has(token))),
    reader: () => createTokenReader({ bytesOf, isLeftOut, decode }),
  }
}

const asLines = (question: string, examples: readonly Example[]): string =>
  `${examples.map((one) => `${one.question}\n${one.answer}\n`).join('')}${question}\n`

/** The token with which the template ends an answer, found when it is first asked for. */
function endOfTurnOf(
  template: ChatTemplate | undefined,
  { encode, stopTokens }: { encode(text: string): Int32Array; stopTokens: readonly number[] },
): () => number {
  const turns = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ] as const
  const found = (): number | undefined => {
    try {
      const told = template && encode(template.render(turns, { prompt: false }))
      return told?.findLast((token) => stopTokens.includes(token))
    } catch {
      // A template may refuse a conversation that ends with an answer.
      return undefined
    }
  }
  let end: number | undefined
  return () => {
    end ??= found() ?? stopTokens[0]!
    return end
  }
}

/** One more than the highest token id in the files. */
export function vocabularyOf({ model, added_tokens: added }: JsonObject): number {
  const { vocab } = (model ?? {}) as { vocab?: unknown }
  // In a list, the index is the id.
  let size = Array.isArray(vocab) ? vocab.length : 0
  const ids = Array.isArray(vocab) ? [] : Object.values((vocab ?? {}) as object)
  const extra = Array.isArray(added) ? added.map((token) => (token as { id?: unknown } | null)?.id) : []
  for (const id of [...ids, ...extra]) if (Number.isInteger(id)) size = Math.max(size, (id as number) + 1)
  return size
}

/** There may be several templates, in a list: "default" is for plain chat, and "tool_use" for chat with tools. */
function templateOf(config: JsonObject, name: 'default' | 'tool_use'): string | undefined {
  const { chat_template: template } = config
  if (typeof template === 'string') return name === 'default' ? template : undefined
  if (!Array.isArray(template)) return undefined
  const entry = template.find((item) => (item as { name?: unknown } | null)?.name === name)
  const text = (entry as { template?: unknown } | undefined)?.template
  return typeof text === 'string' ? text : undefined
}

/** Runs code that uses the file's regular expressions, which may never finish. */
function attempt<Result>(what: string, limitMs: number, build: () => Result): Result {
  try {
    return withDeadline(what, limitMs, build)
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
