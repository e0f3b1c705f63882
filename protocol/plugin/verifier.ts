// A custom verifier for a dataset: one file, named by the config, that scores what the model wrote.
//
// Groups travel without rewards: every node scores them again with its own verifier. So a score must depend
// only on the function's arguments, and only nodes with the same file exchange groups.

import type { PLUGIN_API, SettingsSchema } from './plugin.ts'

/** As in the dataset. */
export type Answer = string | number | ReadonlyArray<string | number>

export interface Answered<Settings = unknown> {
  prompt: string
  /** The answer in the dataset's row. */
  answer: Answer
  /** Everything that the model wrote. It may come from a peer and contain anything. */
  completion: string
  /** The trimmed text between the answer tags, or else the last line; null if there is none. */
  text: string | null
  /** Whether `text` was between the tags. */
  tagged: boolean
  settings: Settings
}

/** A score with the named parts that it is made of, each finite, at most 16; the estimator `gdpo` tells them apart. */
export interface PartlyScored {
  score: number | boolean
  parts: Readonly<Record<string, number>>
}

export interface CustomVerifier<Settings = unknown> {
  name: string
  kind: 'verifier'
  api: typeof PLUGIN_API
  /** One line for lists. */
  summary: string
  /** Schema of the keys beside `use` in the config; if left out, there are none. */
  settings?: SettingsSchema<Settings>
  /** 1 or true is right, 0 or false wrong, in between partly right. Pure; takes at most 250 ms. */
  score(given: Answered<Settings>): number | boolean | PartlyScored
}

export function defineVerifier<Settings = unknown>(
  verifier: CustomVerifier<Settings>,
): CustomVerifier<Settings> {
  return verifier
}
