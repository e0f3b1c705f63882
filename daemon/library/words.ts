// Errors in words of the library: what they call a setting of the config is an option here, or nothing.

import { type ErrorCode, WaggleError } from '../../protocol/errors.ts'

const WORDS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bengine\.device\b/g, 'device'],
  [/Set model\.path to one, or to a name on the hub/g, 'Name one, or a model on the hub'],
  [/ \(rollout\.prompts\)/g, ''],
  [/set rollout\.prompts\b.*?, or take/g, 'take'],
  [/\bthe config\b(?!\.)/g, 'the options'],
  [/In a config file, a relative path starts at the folder of the file/g, 'A relative path starts at `base`'],
]

function inWordsOfOptions(text: string): string {
  return WORDS.reduce((told, [words, others]) => told.replace(words, others), text)
}

/** Throws the error in these words. `hints`, by code, take the place of its own. */
export function throwInWordsOfOptions(error: unknown, hints: Partial<Record<ErrorCode, string>> = {}): never {
  if (!(error instanceof WaggleError)) throw error
  const { code, message, data } = error
  const told = hints[code] ?? (error.hint && inWordsOfOptions(error.hint))
  throw new WaggleError(code, inWordsOfOptions(message), {
    ...(told !== undefined && { hint: told }),
    ...(data && { data }),
    cause: error,
  })
}
