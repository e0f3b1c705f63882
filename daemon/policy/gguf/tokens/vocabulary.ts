// A tokenizer's vocabulary as it is in the file, and the parts of tokenizer.json that are made from it.

import type { JsonObject } from '../../files/model-files.ts'
import type { Facts } from '../metadata.ts'

export interface Vocabulary {
  /** By id. */
  tokens: readonly string[]
  /** The kind of each token; see TOKEN. */
  types: ArrayLike<number>
  facts: Facts
}

/** llama.cpp's numbers. */
export const TOKEN = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

/** The parts of tokenizer.json in which the kinds of tokenizer differ. */
export interface Kind {
  normalizer: JsonObject | null
  pre_tokenizer: JsonObject | null
  decoder: JsonObject
  model: JsonObject
  /** Whether text outside a chat starts with BOS, if the file does not say. */
  addBos: boolean
}

/** Token ids by text. If two tokens have the same text, the later one counts. */
export function vocabOf(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, id) => [token, id]))
}
