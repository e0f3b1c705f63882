// The tokenizer of @huggingface/tokenizers, made to encode as the Rust library of the same name does, which made the
// models' training data. The JavaScript library differs in what it takes for digits and white space, and ignores that some
// added tokens are only matched as whole words.

import { Tokenizer } from '@huggingface/tokenizers'
import type { JsonObject } from '../files/model-files.ts'

/** GPT-2's expression. `\s` is white space in Unicode's sense: with U+0085, without U+FEFF. */
const BYTE_LEVEL =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu

const STARTS_WITH_WORD = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const ENDS_WITH_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u

interface AddedToken {
  content: string
  single_word: boolean
  lstrip: boolean
  rstrip: boolean
  normalized: boolean
}

/** What the library keeps inside and does not declare. */
interface Inside {
  added_tokens_map: Map<string, AddedToken>
  splitter_normalized: Splitter
  splitter_unnormalized: Splitter
  normalizer: ((text: string) => string) | null
  pre_tokenizer: PreTokenizer | null
  model(texts: string[]): string[]
  encode_text(text: string | null): string[] | null
}
interface Splitter {
  split(text: string): string[]
}
interface PreTokenizer {
  (text: string, options: { section_index: number }): string[]
  config?: { type?: string }
  pattern?: RegExp
  tokenizers?: PreTokenizer[]
}

export function openTokenizer(tokenizer: JsonObject, config: JsonObject): Tokenizer {
  const core = new Tokenizer({ ...tokenizer, pre_tokenizer: mended(tokenizer.pre_tokenizer) }, config)
  const inside = core as unknown as Inside
  mendPatterns(inside.pre_tokenizer)
  const rules = inside.added_tokens_map
  const isPlain = [...rules.values()].every((token) => !(token.single_word || token.lstrip || token.rstrip))
  if (!isPlain) inside.encode_text = (text) => (text === null ? null : tokensOf(text, inside))
  return core
}

/** A part of a text; `rule` if it is an added token. */
interface Part {
  text: string
  rule?: AddedToken | undefined
}

/** As the library's own, with the added tokens' rules. Tokens' texts, before they become ids. */
function tokensOf(text: string, inside: Inside): string[] {
  const { normalizer, pre_tokenizer, added_tokens_map: rules } = inside
  const partsOf = (whole: string, splitter: Splitter, isNormalized: boolean): Part[] => {
    const ruleOf = (piece: string): AddedToken | undefined => {
      const rule = rules.get(piece)
      return rule && (rule.normalized && normalizer !== null) === isNormalized ? rule : undefined
    }
    return stripped(wholeWords(splitter.split(whole), whole, ruleOf))
  }
  return partsOf(text, inside.splitter_unnormalized, false).flatMap((part, section_index) => {
    if (part.rule) return [part.text]
    const normal = normalizer ? normalizer(part.text) : part.text
    return partsOf(normal, inside.splitter_normalized, true).flatMap((piece) => {
      if (piece.rule || piece.text === '') return piece.text === '' ? [] : [piece.text]
      return inside.model(pre_tokenizer ? pre_tokenizer(piece.text, { section_index }) : [piece.text])
    })
  })
}

/** Pre-tokenizers whose expressions the library has wrong, as `Split` with the right one. */
function mended(given: unknown): unknown {
  const config = given as { type?: string; pretokenizers?: unknown[]; individual_digits?: boolean } | null
  const split = (Regex: string, options: { behavior: string; invert: boolean }) => ({
    ...{ type: 'Split', pattern: { Regex } },
    ...options,
  })
  switch (config?.type) {
    case 'Sequence':
      return { ...config, pretokenizers: config.pretokenizers?.map(mended) }
    case 'Digits':
      return split(config.individual_digits ? '\\p{N}' : '\\p{N}+', { behavior: 'Isolated', invert: false })
    case 'Whitespace':
      return split('\\w+|[^\\w\\s]+', { behavior: 'Removed', invert: true })
    case 'WhitespaceSplit':
      return split('\\s+', { behavior: 'Removed', invert: false })
    default:
      return given
  }
}

/** ByteLevel adds its space before it splits, so it cannot be taken apart. */
function mendPatterns(preTokenizer: PreTokenizer | null): void {
  if (preTokenizer?.config?.type === 'ByteLevel') preTokenizer.pattern = BYTE_LEVEL
  for (const part of preTokenizer?.tokenizers ?? []) mendPatterns(part)
}

/** Joins a token that must be a whole word, and is not one, with the text around it. */
function wholeWords(
  pieces: readonly string[],
  text: string,
  ruleOf: (piece: string) => AddedToken | undefined,
): Part[] {
  const parts: Part[] = []
  let at = 0
  for (const piece of pieces) {
    const end = at + piece.length
    const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(end, end + 2)]
    const rule = ruleOf(piece)
    const isInWord = ENDS_WITH_WORD.test(before) || STARTS_WITH_WORD.test(after)
    const last = parts.at(-1)
    if (rule && !(rule.single_word && isInWord)) parts.push({ text: piece, rule })
    else if (last && !last.rule) last.text += piece
    else parts.push({ text: piece })
    at = end
  }
  return parts
}

/** Takes away the white space that tokens swallow on their left or right. */
function stripped(parts: readonly Part[]): Part[] {
  return parts.map((part, i) => {
    if (part.rule) return part
    let { text } = part
    if (parts[i - 1]?.rule?.rstrip) text = text.replace(/^\p{White_Space}+/u, '')
    if (parts[i + 1]?.rule?.lstrip) text = text.replace(/\p{White_Space}+$/u, '')
    return { text }
  })
}
