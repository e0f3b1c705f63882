// Makes texts safe to put into a prompt: they come from a policy or a peer, and must be read only as notes.
//
// Removes control and invisible characters, then everything that looks like a chat template or a tag:
// `<|...|>`, `[INST]`, `<s>`, a line that opens with a role, fences and headings. The rest is cut to length
// and put between two marks that it cannot contain. This limits what a text can pass itself off as; only a trial
// shows whether its advice is true.

import { createHash } from 'node:crypto'
import { safeText } from '../../../protocol/text.ts'

const TAGS = /<[^<>]{0,64}>|\[\/?(?:INST|SYS|SYSTEM)\]|[<>]/gi
const ROLES = /^[ \t#*>-]*(?:system|assistant|user|human|developer|tool)[ \t]*:/gim
const FENCES = /`{3,}|^-{3,}$|^={3,}$|^#{1,6}[ \t]/gm

/** Cleans a text, on one line unless `lines` is set. Idempotent. */
export function cleanText(
  text: string,
  { limit, lines = false }: { limit: number; lines?: boolean },
): string {
  let clean = safeText(text, { limit: 4 * limit + 256 }).replaceAll('·', '')
  // Removing a mark may join the text around it into another mark.
  for (let before = ''; before !== clean; ) {
    before = clean
    clean = clean.replace(TAGS, ' ').replace(ROLES, ' ').replace(FENCES, ' ')
    clean = lines ? clean.replace(/[ \t]+/g, ' ').replace(/\s*\n\s*/g, '\n') : clean.replace(/\s+/g, ' ')
    clean = clean.trim().slice(0, limit).trim()
  }
  return clean
}

/** The notes as text before a question; empty if there are none. */
export function notesOf(notes: readonly string[], title: string): string {
  if (notes.length === 0) return ''
  return `<notes>\n${title}\n${notes.map((note) => `- ${note}`).join('\n')}\n</notes>\n\n`
}

/** Identifies a text: equal texts have equal digests, whoever sends them. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The first JSON value between these brackets; undefined if there is none. */
export function jsonIn(text: string, open: '{' | '['): unknown {
  const close = open === '{' ? '}' : ']'
  const from = text.indexOf(open)
  // Try from the last bracket inwards: text after the JSON may also contain brackets.
  for (let to = text.lastIndexOf(close), tries = 0; from >= 0 && to > from && tries < 16; tries++) {
    try {
      return JSON.parse(text.slice(from, to + 1))
    } catch {
      to = text.lastIndexOf(close, to - 1)
    }
  }
  return undefined
}
