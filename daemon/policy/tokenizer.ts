// Text to token ids and back, for one model: Hugging Face's tokenizer files and its chat template.
//
// The digest names the mapping. Token ids and log-probs of another node mean something here only if it is the same.

import { createHash } from 'node:crypto'
import { Template } from '@huggingface/jinja'
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers'
import { WaggleError } from '../../protocol/errors.ts'
import type { Finish } from '../../protocol/train/index.ts'

export interface TokenizerFiles {
  /** Parsed tokenizer.json. */
  tokenizer: Record<string, unknown>
  /** Parsed tokenizer_config.json. */
  config: Record<string, unknown>
  /** Parsed generation_config.json or config.json: where `eos_token_id` may be a number or a list. */
  generation: Record<string, unknown>
}

export interface Tokenizer {
  /** SHA-256, 64 hex digits, over vocabulary, merges, added tokens and chat template. */
  readonly digest: string
  /** Tokens that end a completion. */
  readonly stopTokens: readonly number[]
  /** A question as the model is asked it, up to where its completion begins. */
  encodePrompt(question: string): Int32Array
  /** A completion's text; ends with the first stop token if it finished by itself. */
  encodeCompletion(text: string, finish: Finish): Int32Array
  /** A completion's text, without stop tokens and other special ones. */
  decodeCompletion(tokens: Int32Array): string
  encode(text: string): Int32Array
  /** True for tokens that stand for structure, not for text, and for ids that stand for nothing. */
  isSpecial(token: number): boolean
}

/** What every question is preceded by, for models whose template has a place for it. */
const SYSTEM =
  'Think step by step, then give the answer between <answer> and </answer>, nothing but the answer inside.'

export function createTokenizer({ tokenizer, config, generation }: TokenizerFiles): Tokenizer {
  const core = attempt('tokenizer.json', () => new HuggingFaceTokenizer(tokenizer, config))
  const source = templateOf(config)
  const template = source === undefined ? undefined : attempt('the chat template', () => new Template(source))
  const stopTokens = stopTokensOf(generation, config, core)
  const stops = new Set(stopTokens)
  const special = new Set(
    [...core.get_added_tokens_decoder()].filter(([, token]) => token.special).map(([id]) => id),
  )
  const encode = (text: string): Int32Array =>
    Int32Array.from(core.encode(text, { add_special_tokens: false }).ids)

  return {
    digest: createHash('sha256')
      .update(JSON.stringify([tokenizer, source ?? null, stopTokens]))
      .digest('hex'),
    stopTokens,
    encode,
    isSpecial: (token) => stops.has(token) || special.has(token) || core.id_to_token(token) === undefined,
    encodePrompt(question) {
      if (!template) return encode(`${question}\n`)
      const text = template.render({
        messages: [
          { role: 'system', content: SYSTEM },
          { role: 'user', content: question },
        ],
        add_generation_prompt: true,
        bos_token: contentOf(config.bos_token) ?? '',
        eos_token: contentOf(config.eos_token) ?? '',
      })
      return encode(text)
    },
    encodeCompletion(text, finish) {
      const tokens = encode(text)
      return finish === 'stop' ? Int32Array.from([...tokens, stopTokens[0]!]) : tokens
    },
    decodeCompletion(tokens) {
      const kept = [...tokens].filter((token) => !stops.has(token))
      if (kept.length === 0) return ''
      return core.decode(kept, { skip_special_tokens: true, clean_up_tokenization_spaces: false })
    },
  }
}

function templateOf(config: Record<string, unknown>): string | undefined {
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

function contentOf(token: unknown): string | undefined {
  if (typeof token === 'string') return token
  const content = (token as { content?: unknown } | null | undefined)?.content
  return typeof content === 'string' ? content : undefined
}

function stopTokensOf(
  generation: Record<string, unknown>,
  config: Record<string, unknown>,
  core: HuggingFaceTokenizer,
): number[] {
  const given = generation.eos_token_id
  const listed = (Array.isArray(given) ? given : [given]).filter((id): id is number => Number.isInteger(id))
  if (listed.length > 0) return listed
  const text = contentOf(config.eos_token)
  const id = text === undefined ? undefined : core.token_to_id(text)
  if (id !== undefined) return [id]
  throw new WaggleError('E_MODEL', 'the model names no end-of-sequence token', {
    hint: 'generation_config.json or config.json needs "eos_token_id", or tokenizer_config.json an "eos_token".',
  })
}

function attempt<T>(what: string, build: () => T): T {
  try {
    return build()
  } catch (cause) {
    throw new WaggleError(
      'E_MODEL',
      `${what} cannot be used: ${cause instanceof Error ? cause.message.split('\n')[0] : String(cause)}`,
      {
        cause,
      },
    )
  }
}
