// Content ids. Two groups with the same prompt and, but for look-alike changes, the same texts are copies of one another:
// whoever sends them, in whatever order, and whatever their log-probs say.

import { createHash } from 'node:crypto'
import type { PromptCoordinates } from '../train/index.ts'
import { writeCbor } from './cbor.ts'

/** Spaces of all kinds, controls, format characters such as zero-width joiners and bidi marks, variation selectors. */
const BLANK = /[\s\p{C}\p{Z}\p{Variation_Selector}]+/gu

/**
 * A text as far as copies are concerned: compatibility-composed (NFKC, so NFC and beyond), runs of blank and invisible
 * characters made one space, none at the ends. For comparing only; the text itself is kept as it was written.
 */
export function normalText(text: string): string {
  return text.normalize('NFKC').replace(BLANK, ' ').trim()
}

/** 64 hex digits. Author, arm, policy, tokens and order do not enter. */
export function contentId(prompt: PromptCoordinates, texts: readonly string[]): string {
  const { task, taskVersion, seed, difficulty } = prompt
  const parts = ['waggle/content/1', task, taskVersion, seed, difficulty, texts.map(normalText).sort()]
  return createHash('sha256').update(writeCbor(parts)).digest('hex')
}
