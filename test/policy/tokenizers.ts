// Small tokenizers for tests, unlike the default model's, which has a token for every byte.

import type { TokenizerFiles } from '../../daemon/policy/tokens/tokenizer.ts'

const TURN = '<|im_start|>'
const END = '<|im_end|>'

/** ChatML, as Qwen has it. */
export const CHATML =
  "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"

/** One token a character, of printable ASCII only: everything else becomes `<unk>`, and so does not come back. */
export function asciiTokenizer(): TokenizerFiles {
  const characters = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
  const vocabulary = ['<unk>', TURN, END, '\n', ...characters, 'an', 'sw', 'er', 'answ', 'answer']
  const merges = [
    ['a', 'n'],
    ['s', 'w'],
    ['e', 'r'],
    ['an', 'sw'],
    ['answ', 'er'],
  ]
  const added = ['<unk>', TURN, END].map((content, id) => ({
    id,
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }))
  return {
    tokenizer: {
      version: '1.0',
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: { type: 'Fuse' },
      model: {
        type: 'BPE',
        unk_token: '<unk>',
        fuse_unk: false,
        byte_fallback: false,
        vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
        merges,
      },
    },
    config: { eos_token: { content: END }, chat_template: CHATML },
    generation: [{ eos_token_id: [2, 0] }, undefined],
  }
}

/** A token for each byte, as GPT-2 (`byte-level`) or SentencePiece (`byte-fallback`) has them, in ChatML. */
export function byteTokenizer(kind: 'byte-level' | 'byte-fallback'): TokenizerFiles {
  const { tokenizer, ...files } = asciiTokenizer()
  const { vocab, ...model } = tokenizer.model as { vocab: Record<string, number> }
  const bytes = Array.from({ length: 256 }, (_, byte) => byte)
  if (kind === 'byte-fallback') {
    const names = bytes.map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
    const all = { ...vocab, ...Object.fromEntries(names.map((name, byte) => [name, 200 + byte])) }
    const decoder = { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, { type: 'Fuse' }] }
    return {
      ...files,
      tokenizer: { ...tokenizer, decoder, model: { ...model, byte_fallback: true, vocab: all } },
    }
  }
  const isVisible = (byte: number): boolean => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  let next = 0x100
  const names = bytes.map((byte) => String.fromCodePoint(isVisible(byte) ? byte : next++))
  const special = Object.entries(vocab).filter(([, id]) => id < 3)
  const all = Object.fromEntries([
    ...special,
    ...names.map((name, byte): [string, number] => [name, 200 + byte]),
  ])
  const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  return {
    ...files,
    tokenizer: {
      ...{ ...tokenizer, pre_tokenizer: level, decoder: level },
      model: { ...model, vocab: all, merges: [] },
    },
  }
}
