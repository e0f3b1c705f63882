// Makes the default model's tokenizer: byte-level BPE over the tasks' own text, with one token per digit.

/** GPT-2's printable stand-ins for bytes, which Hugging Face's ByteLevel uses. */
function byteCharacters(): string[] {
  const printable = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
}

/** Words keep the space before them, every digit is a token of its own, runs of other white space stay together. */
export const SPLITS = {
  digitsAlone: ' ?[A-Za-z]+|\\d| ?[^\\sA-Za-z\\d]+|\\s+',
  /** A digit keeps the space before it, so that a row of numbers has half as many tokens. */
  digitsWithSpace: ' ?[A-Za-z]+| ?\\d| ?[^\\sA-Za-z\\d]+|\\s+',
} as const
export type Split = (typeof SPLITS)[keyof typeof SPLITS]

export const SPECIAL = { end: '<|end|>', user: '<|user|>', assistant: '<|assistant|>' } as const
const TAGS = ['<answer>', '</answer>']

export interface TokenizerFiles {
  tokenizer: Record<string, unknown>
  config: Record<string, unknown>
  endToken: number
}

/** Learns merges from texts until the vocabulary has `size` entries or no pair is left that occurs `least` times. */
export function makeTokenizer(
  texts: Iterable<string>,
  { size, least, split }: { size: number; least: number; split: Split },
): TokenizerFiles {
  const characters = byteCharacters()
  const counts = new Map<string, number>()
  const encoder = new TextEncoder()
  const wordOf = new RegExp(split, 'gu')
  for (const text of texts) {
    for (const part of text.split(/<\/?answer>/)) {
      for (const [word] of part.matchAll(wordOf)) {
        const mapped = Array.from(encoder.encode(word), (byte) => characters[byte]).join('')
        counts.set(mapped, (counts.get(mapped) ?? 0) + 1)
      }
    }
  }

  const specials = [SPECIAL.end, SPECIAL.user, SPECIAL.assistant]
  const added = [...specials, ...TAGS]
  const vocabulary = new Map<string, number>(added.map((token, id) => [token, id]))
  for (const character of characters) vocabulary.set(character, vocabulary.size)
  const words = [...counts].map(([word, count]) => ({ pieces: [...word], count }))
  const merges: string[] = []
  while (vocabulary.size < size) {
    const pairs = new Map<string, number>()
    for (const { pieces, count } of words) {
      for (let i = 0; i + 1 < pieces.length; i++) {
        const pair = `${pieces[i]} ${pieces[i + 1]}`
        pairs.set(pair, (pairs.get(pair) ?? 0) + count)
      }
    }
    const [best] = [...pairs].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    if (!best || best[1] < least) break
    const [left, right] = best[0].split(' ') as [string, string]
    merges.push(best[0])
    vocabulary.set(left + right, vocabulary.size)
    for (const word of words) {
      const joined: string[] = []
      for (let i = 0; i < word.pieces.length; i++) {
        const isPair = word.pieces[i] === left && word.pieces[i + 1] === right
        joined.push(isPair ? left + right : word.pieces[i]!)
        if (isPair) i++
      }
      word.pieces = joined
    }
  }

  const template =
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>' + message['content'] }}" +
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + '<|end|>' }}{% endif %}" +
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
  return {
    endToken: 0,
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added.map((content, id) => ({
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: id < specials.length,
      })),
      normalizer: null,
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: split }, behavior: 'Isolated', invert: false },
          { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
        ],
      },
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries(vocabulary),
        merges: merges.map((merge) => merge.split(' ')),
      },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: SPECIAL.end,
      model_max_length: 512,
      clean_up_tokenization_spaces: false,
      chat_template: template,
    },
  }
}
