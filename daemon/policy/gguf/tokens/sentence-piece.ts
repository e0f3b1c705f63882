// SentencePiece's BPE (Kudo and Richardson 2018): of all neighbours that together form a token, it merges the pair
// whose token has the highest score first. Text that forms no token becomes bytes. The file has the scores; here they
// become an ordered list of merges.

import type { JsonObject } from '../../files/model-files.ts'
import { type Kind, TOKEN, type Vocabulary, vocabOf } from './vocabulary.ts'

const SPACE = '▁'

export function sentencePiece(vocabulary: Vocabulary): Kind {
  const { tokens, types, facts } = vocabulary
  const prefix = facts.flag('tokenizer.ggml.add_space_prefix') ?? true
  const unknown = Array.from(tokens.keys()).find((id) => types[id] === TOKEN.unknown)
  const unk = facts.number('tokenizer.ggml.unknown_token_id') ?? unknown ?? 0
  const toMarks: JsonObject = { type: 'Replace', pattern: { String: ' ' }, content: SPACE }
  const toSpaces: JsonObject = { type: 'Replace', pattern: { String: SPACE }, content: ' ' }
  return {
    normalizer: prefix
      ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: SPACE }, toMarks] }
      : toMarks,
    pre_tokenizer: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        toSpaces,
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        ...(prefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
      ],
    },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: tokens[unk] ?? null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: true,
      byte_fallback: true,
      ignore_merges: false,
      vocab: vocabOf(tokens),
      merges: mergesOf(vocabulary),
    },
    addBos: true,
  }
}

/** Tokens longer than this have no merges; the longest of any published vocabulary has 96. */
const LONGEST = 256

/** All ways to form a token from two tokens, starting with the highest-scoring token. */
function mergesOf({ tokens, types, facts }: Vocabulary): [string, string][] {
  const scores = facts.numbers('tokenizer.ggml.scores')
  if (scores?.length !== tokens.length) throw facts.fail('its tokenizer has no score for each token')
  const ids = new Map(tokens.map((token, id) => [token, id]))
  const isMerged = (id: number): boolean => types[id] === TOKEN.normal || types[id] === TOKEN.unused
  const order = Array.from(tokens.keys()).filter(isMerged)
  order.sort((a, b) => scores[b]! - scores[a]! || a - b)
  const merges: [string, string][] = []
  for (const id of order) {
    const token = tokens[id]!
    if (token.length > LONGEST) continue
    const ways: [number, number][] = []
    for (let at = 1; at < token.length; at++) {
      const left = ids.get(token.slice(0, at))
      const right = left === undefined ? undefined : ids.get(token.slice(at))
      if (left !== undefined && right !== undefined) ways.push([left, right])
    }
    ways.sort((a, b) => a[0] - b[0] || a[1] - b[1])
    for (const [left, right] of ways) merges.push([tokens[left]!, tokens[right]!])
  }
  return merges
}
