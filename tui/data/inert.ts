// Makes everything that the daemon sends safe to draw, once, on arrival: names, reasons and texts may come
// from a peer. Beyond safeText, every character is made one cell wide, since the screen counts cells by
// characters.

import { safeText } from '../../protocol/text.ts'

const COMBINING = /[\p{M}\u3164\u115f\u1160\uffa0\u{e0000}-\u{e0fff}]/gu
const WIDE =
  /[\u1100-\u11ff\u2329\u232a\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f000}-\u{1ffff}\u{20000}-\u{3ffff}]|\p{Emoji_Presentation}|\p{Cn}|\p{Co}/gu

/** One line of characters one cell wide; wide, private-use and unassigned characters become `?`. */
export function narrow(text: string, limit = 4096): string {
  return safeText(text, { limit, line: true }).replace(COMBINING, '').replace(WIDE, '?')
}

/** Fields that keep their line breaks; all others become one line. */
const BLOCKS = new Set(['text', 'question'])

const block = (text: string): string =>
  text
    .split('\n')
    .map((line) => narrow(line))
    .join('\n')

/** A copy of the value in which all texts, including keys, are narrow. */
export function inert<T>(value: T): T {
  if (typeof value === 'string') return narrow(value) as T
  if (Array.isArray(value)) return value.map(inert) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [
    narrow(key, 128),
    BLOCKS.has(key) && typeof inner === 'string' ? block(inner) : inert(inner),
  ])
  return Object.fromEntries(entries) as T
}
