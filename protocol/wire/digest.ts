// Content IDs. Two groups are copies of one another if they have the same prompt and the same texts after
// normalisation, whoever sends them, in whatever order, and whatever their log-probs.

import { createHash } from 'node:crypto'
import type { PromptCoordinates } from '../train/index.ts'
import { writeCbor } from './cbor.ts'

/**
 * White space of all kinds, control characters, format characters such as joiners and bidi marks, variation
 * selectors.
 */
const BLANK = /[\s\p{C}\p{Z}\p{Variation_Selector}]+/gu

/**
 * Longer runs of combining marks than any script uses (UAX #15-D4). Sorting n of them takes n² steps: about a second
 * for a message full of them. U+FF9E and U+FF9F become marks under normalisation.
 */
const MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * The form of a text used to find copies: NFKC, with each run of blank and invisible characters replaced by one space,
 * and none at the ends. The text itself is kept as written.
 */
export function normalText(text: string): string {
  return text.replace(MARKS, '$1').normalize('NFKC').replace(BLANK, ' ').trim()
}

/** 64 hex digits. Author, arm, policy, tokens and order do not affect it. */
export function contentId(prompt: PromptCoordinates, texts: readonly string[]): string {
  return contentOf(prompt, texts).id
}

/** The content ID, and the normalised texts that it is computed from. */
export function contentOf(
  prompt: PromptCoordinates,
  texts: readonly string[],
): { id: string; texts: string[] } {
  const { task, taskVersion, seed, difficulty } = prompt
  const normal = texts.map(normalText).sort()
  const parts = ['waggle/content/1', task, taskVersion, seed, difficulty, normal]
  return { id: createHash('sha256').update(writeCbor(parts)).digest('hex'), texts: normal }
}
