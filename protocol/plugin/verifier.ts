// A custom verifier for a dataset: one file, named in the config, that scores the model's completions.
//
// Groups are sent without rewards, and each node scores them again with its own verifier. So a score may depend
// only on the function's arguments, and only nodes with the same file exchange groups.

import type { PLUGIN_API, SettingsSchema } from './plugin.ts'

/** An answer as it appears in the dataset. */
export type Answer = string | number | ReadonlyArray<string | number>

export interface Answered<Settings = unknown> {
  prompt: string
  /** The answer in the dataset's row. */
  answer: Answer
  /** The full completion. It may come from a peer and contain anything. */
  completion: string
  /** The trimmed text between the answer tags, or else the last line; null if there is none. */
  text: string | null
  /** Whether `text` was between the tags. */
  tagged: boolean
  settings: Settings
}

/** A score and its named parts: at most 16, all finite. The estimator `gdpo` treats the parts separately. */
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
  /** Schema of the config keys other than `use`; if left out, there are none. */
  settings?: SettingsSchema<Settings>
  /** 1 or true means right, 0 or false wrong, values in between partly right. Must be pure and take at most 250 ms. */
  score(given: Answered<Settings>): number | boolean | PartlyScored
}

export function defineVerifier<Settings = unknown>(
  verifier: CustomVerifier<Settings>,
): CustomVerifier<Settings> {
  return verifier
}
