// Turns a GGUF file's tokenizer into the layout of tokenizer.json, tokenizer_config.json and generation_config.json, so
// that both kinds of model are handled alike from here on. Text is split as llama.cpp does it, that is, without the
// Unicode normalization that some publishers use (NFC in Qwen's tokenizer.json).

import type { JsonObject } from '../../files/model-files.ts'
import { quote } from '../../safetensors/json.ts'
import type { Facts } from '../metadata.ts'
import { byteLevel } from './byte-level.ts'
import { sentencePiece } from './sentence-piece.ts'
import { type Kind, TOKEN, type Vocabulary } from './vocabulary.ts'

interface TokenizerJson {
  tokenizer: JsonObject
  tokenizerConfig: JsonObject
  generation: JsonObject
}

/** Tokens that llama.cpp treats as the end of an answer in any model. */
const ENDS = new Set([
  '<|eot_id|>',
  '<|im_end|>',
  '<|end|>',
  '<end_of_turn>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|eom_id|>',
  '<EOT>',
  '_<EOT>',
])

/** `vocabulary` is the number of rows of the embedding table. Throws E_MODEL. */
export function readTokenizer(facts: Facts, vocabulary: number): TokenizerJson {
  const tokens = facts.texts('tokenizer.ggml.tokens')
  if (!tokens)
    throw facts.fail('there is no tokenizer in it', 'Convert the model again, with its vocabulary.')
  if (tokens.length > vocabulary) {
    throw facts.fail(`it has ${tokens.length} tokens, and embeddings only for ${vocabulary}`)
  }
  const types = facts.numbers('tokenizer.ggml.token_type') ?? new Uint8Array(tokens.length).fill(TOKEN.normal)
  if (types.length !== tokens.length) throw facts.fail(`${tokens.length} tokens have ${types.length} types`)
  const kind = kindOf({ tokens, types, facts })
  const named = (name: string): number | undefined => {
    const id = facts.number(`tokenizer.ggml.${name}_token_id`)
    return id !== undefined && Number.isInteger(id) && id >= 0 && id < tokens.length ? id : undefined
  }
  const [bos, eos] = [named('bos'), named('eos')]
  const addBos = facts.flag('tokenizer.ggml.add_bos_token') ?? kind.addBos
  const addEos = facts.flag('tokenizer.ggml.add_eos_token') ?? false
  const around = { before: addBos ? bos : undefined, after: addEos ? eos : undefined }
  const { normalizer, pre_tokenizer, decoder, model } = kind
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: addedTokens(tokens, types),
      normalizer,
      pre_tokenizer,
      post_processor: postProcessor(tokens, around),
      decoder,
      model,
    },
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      ...tokenTexts(tokens, { bos, eos, unk: named('unknown'), pad: named('padding') }),
      chat_template: chatTemplates(facts),
      clean_up_tokenization_spaces: false,
    },
    generation: {
      ...(bos === undefined ? {} : { bos_token_id: bos }),
      eos_token_id: endTokens(tokens, types, [eos, named('eot'), named('eom')]),
    },
  }
}

/** Other templates than the default one have keys of their own. */
function chatTemplates(facts: Facts): string | JsonObject[] | undefined {
  const [plain, toolUse] = ['', '.tool_use'].map((name) => facts.text(`tokenizer.chat_template${name}`))
  if (plain === undefined || toolUse === undefined) return plain
  return [
    { name: 'default', template: plain },
    { name: 'tool_use', template: toolUse },
  ]
}

function kindOf(vocabulary: Vocabulary): Kind {
  const model = vocabulary.facts.text('tokenizer.ggml.model')
  if (model === 'gpt2') return byteLevel(vocabulary)
  if (model === 'llama') return sentencePiece(vocabulary)
  throw vocabulary.facts.fail(
    `its tokenizer is of the kind ${quote(model ?? 'not given')}, which is not supported`,
    'Supported: byte-level BPE ("gpt2") and SentencePiece ("llama").',
  )
}

function addedTokens(tokens: readonly string[], types: ArrayLike<number>): JsonObject[] {
  const added: JsonObject[] = []
  for (const [id, content] of tokens.entries()) {
    const type = types[id]
    if (content === '' || (type !== TOKEN.control && type !== TOKEN.unknown && type !== TOKEN.userDefined))
      continue
    const special = type !== TOKEN.userDefined
    added.push({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special })
  }
  return added
}

function postProcessor(
  tokens: readonly string[],
  { before, after }: { before: number | undefined; after: number | undefined },
): JsonObject | null {
  const special: JsonObject = {}
  const piece = (id: number | undefined): JsonObject[] => {
    if (id === undefined) return []
    const text = tokens[id]!
    special[text] = { id: text, ids: [id], tokens: [text] }
    return [{ SpecialToken: { id: text, type_id: 0 } }]
  }
  if (before === undefined && after === undefined) return null
  const single = [...piece(before), { Sequence: { id: 'A', type_id: 0 } }, ...piece(after)]
  const pair = [...single, { Sequence: { id: 'B', type_id: 1 } }]
  return { type: 'TemplateProcessing', single, pair, special_tokens: special }
}

function tokenTexts(tokens: readonly string[], ids: Record<string, number | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : [[`${name}_token`, tokens[id]]])),
  )
}

function endTokens(
  tokens: readonly string[],
  types: ArrayLike<number>,
  named: readonly (number | undefined)[],
): number[] {
  const ends = new Set(named.filter((id) => id !== undefined))
  for (const [id, text] of tokens.entries()) {
    if (types[id] !== TOKEN.normal && types[id] !== TOKEN.byte && ENDS.has(text)) ends.add(id)
  }
  return [...ends]
}
