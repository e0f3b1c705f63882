// Finds a model's special tokens. Its files name them in up to five places, as text, as an id or as a list of ids. Ids
// outside the vocabulary are ignored.

import type { JsonObject } from '../files/model-files.ts'

interface SpecialTokenFiles {
  /** Files that name ids: generation_config.json, then config.json. */
  ids: readonly (JsonObject | undefined)[]
  /** Files that name texts: tokenizer_config.json, then special_tokens_map.json. */
  texts: readonly (JsonObject | undefined)[]
}

interface Vocabulary {
  token_to_id(token: string): number | undefined
  id_to_token(id: number): string | undefined
}

/**
 * Ids that end a completion; empty if no file names any. The files contradict each other: often, generation_config.json
 * names the end of a text, and only tokenizer_config.json the end of a turn. A completion ends at any of them.
 */
export function stopTokens({ ids, texts }: SpecialTokenFiles, vocabulary: Vocabulary): number[] {
  const listed = ids.flatMap((file) => {
    const given = file?.eos_token_id
    return Array.isArray(given) ? given.slice(0, 64) : [given]
  })
  const named = texts.map((file) => textOf('eos_token', [file])).filter((text) => text !== undefined)
  const found = [...listed, ...named.map((text) => vocabulary.token_to_id(text))]
  return [
    ...new Set(
      found.filter(
        (id): id is number => Number.isInteger(id) && vocabulary.id_to_token(id as number) !== undefined,
      ),
    ),
  ]
}

/** The texts of the tokens that chat templates refer to by name; empty for those that the model does not have. */
export function namedTokens({ texts }: SpecialTokenFiles): Record<string, string> {
  const names = ['bos_token', 'eos_token', 'pad_token', 'unk_token']
  return Object.fromEntries(names.map((name) => [name, textOf(name, texts) ?? '']))
}

/** A token is a string, or an object with the string as `content`. */
function textOf(name: string, files: readonly (JsonObject | undefined)[]): string | undefined {
  for (const file of files) {
    const token = file?.[name]
    if (typeof token === 'string') return token
    const content = (token as { content?: unknown } | null | undefined)?.content
    if (typeof content === 'string') return content
  }
  return undefined
}
