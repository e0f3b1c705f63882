// Content ids. Two groups with the same prompt and, but for look-alike changes, the same texts are copies of one another:
// whoever sends them, in whatever order, and whatever their log-probs say.

import { createHash } from 'node:crypto'
import type { PromptCoordinates } from '../train/index.ts'
import { writeCbor } from './cbor.ts'

/** Spaces of all kinds, controls, format characters such as zero-width joiners and bidi marks, variation selectors. */
const BLANK = /[\s\p{C}\p{Z}\p{Variation_Selector}]+/gu

/**
 * Combining marks in a row, beyond those that any script uses (UAX #15-D4): putting n of them in order takes n² steps, a second for a
 * message full of them. U+FF9E and U+FF9F become marks when they are normalised.
 */
const MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/**
 * A text as far as copies are concerned: compatibility-composed (NFKC, so NFC and beyond), runs of blank and invisible
 * characters made one space, none at the ends. For comparing only; the text itself is kept as it was written.
 */
export function normalText(text: string): string {
  return text.replace(MARKS, '$1').normalize('NFKC').replace(BLANK, ' ').trim()
}

/** 64 hex digits. Author, arm, policy, tokens and order do not enter. */
export function contentId(prompt: PromptCoordinates, texts: readonly string[]): string {
  return contentOf(prompt, texts).id
}

/** The content id, and the normalised texts that it is made of. */
export function contentOf(
  prompt: PromptCoordinates,
  texts: readonly string[],
): { id: string; texts: string[] } {
  const { task, taskVersion, seed, difficulty } = prompt
  const normal = texts.map(normalText).sort()
  const parts = ['waggle/content/1', task, taskVersion, seed, difficulty, normal]
  return { id: createHash('sha256').update(writeCbor(parts)).digest('hex'), texts: normal }
}
