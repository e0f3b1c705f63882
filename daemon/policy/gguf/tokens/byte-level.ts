// Byte-level BPE (Radford et al. 2019). The file names the rule by which text is split before the merges. The regular
// expressions are those that llama.cpp has under these names.

import type { JsonObject } from '../../files/model-files.ts'
import { quote } from '../../safetensors/json.ts'
import { type Kind, type Vocabulary, vocabOf } from './vocabulary.ts'

/** `\s` means different characters in different languages: JavaScript's includes U+FEFF and lacks U+0085. */
const spaced = (expression: string): string =>
  expression.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}')

const GPT2 = spaced("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+")
const LLAMA3 = spaced(
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
)
const QWEN2 = LLAMA3.replace('\\p{N}{1,3}', '\\p{N}')

const BYTES: JsonObject = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
/** Splits by one expression after another, then maps bytes to characters. */
const splits = (...expressions: string[]): JsonObject => ({
  type: 'Sequence',
  pretokenizers: [
    ...expressions.map((Regex) => ({
      type: 'Split',
      pattern: { Regex },
      behavior: 'Isolated',
      invert: false,
    })),
    BYTES,
  ],
})

interface Split {
  names: readonly string[]
  how: JsonObject
  /** Words that are in the vocabulary as a whole become one token without any merges. */
  ignoreMerges?: boolean
  addBos?: boolean
}

const SPLITS: readonly Split[] = [
  { names: ['gpt-2', 'olmo', 'phi-2'], how: splits(GPT2) },
  {
    names: ['smollm', 'starcoder', 'refact', 'command-r', 'codeshell', 'exaone', 'minerva-7b'],
    how: splits('\\p{N}', GPT2),
  },
  {
    names: ['llama-bpe', 'llama3', 'llama-v3', 'falcon3'],
    how: splits(LLAMA3),
    ignoreMerges: true,
    addBos: true,
  },
  {
    names: ['qwen2', 'deepseek-r1-qwen', 'stablelm2', 'megrez'],
    how: splits(QWEN2),
  },
]

export function byteLevel({ tokens, facts }: Vocabulary): Kind {
  const name = facts.text('tokenizer.ggml.pre') ?? 'not given'
  const found = SPLITS.find(({ names }) => names.includes(name))
  if (!found) {
    throw facts.fail(
      `its tokenizer splits text as ${quote(name)}, which is not supported`,
      `Supported: ${SPLITS.flatMap(({ names }) => names).join(', ')}.`,
    )
  }
  const merges = facts.texts('tokenizer.ggml.merges')
  if (!merges) throw facts.fail('its tokenizer has no merges')
  return {
    normalizer: null,
    pre_tokenizer: found.how,
    decoder: BYTES,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: found.ignoreMerges ?? false,
      vocab: vocabOf(tokens),
      merges: merges.map((merge) => {
        // Skip the first character, which may itself be a space.
        const at = merge.indexOf(' ', 1)
        return [merge.slice(0, at), merge.slice(at + 1)]
      }),
    },
    addBos: found.addBos ?? false,
  }
}
