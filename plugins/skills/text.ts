// Texts that go into a prompt, made inert: they come from a policy or from a peer, and must be read as notes only.
//
// Controls and invisible characters go, then whatever looks like a chat template or a tag: `<|...|>`, `[INST]`, `<s>`,
// a line that opens with a role, fences and headings. What is left is cut and stands between two marks that it cannot
// have itself. This bounds what a text can be taken for; that it is true is for a trial to show.

import { createHash } from 'node:crypto'
import { safeText } from '../../protocol/text.ts'

const TAGS = /<[^<>]{0,64}>|\[\/?(?:INST|SYS|SYSTEM)\]|[<>]/gi
const ROLES = /^[ \t#*>-]*(?:system|assistant|user|human|developer|tool)[ \t]*:/gim
const FENCES = /`{3,}|^-{3,}$|^={3,}$|^#{1,6}[ \t]/gm

/** On one line unless `lines` is set. Cleaning what is clean changes nothing. */
export function cleanText(
  text: string,
  { limit, lines = false }: { limit: number; lines?: boolean },
): string {
  let clean = safeText(text, { limit: 4 * limit + 256 }).replaceAll('·', '')
  // What is taken out may join what stood around it into another mark.
  for (let before = ''; before !== clean; ) {
    before = clean
    clean = clean.replace(TAGS, ' ').replace(ROLES, ' ').replace(FENCES, ' ')
    clean = lines ? clean.replace(/[ \t]+/g, ' ').replace(/\s*\n\s*/g, '\n') : clean.replace(/\s+/g, ' ')
    clean = clean.trim().slice(0, limit).trim()
  }
  return clean
}

/** Notes as they stand before a question; empty without any. */
export function notesOf(notes: readonly string[], title: string): string {
  if (notes.length === 0) return ''
  return `<notes>\n${title}\n${notes.map((note) => `- ${note}`).join('\n')}\n</notes>\n\n`
}

/** Names a text: equal for equal ones, whoever sends them. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** The first JSON value of a text between these brackets; undefined if there is none. */
export function jsonIn(text: string, open: '{' | '['): unknown {
  const close = open === '{' ? '}' : ']'
  const from = text.indexOf(open)
  // From the last bracket inward: what a model adds after its JSON may have brackets too.
  for (let to = text.lastIndexOf(close), tries = 0; from >= 0 && to > from && tries < 16; tries++) {
    try {
      return JSON.parse(text.slice(from, to + 1))
    } catch {
      to = text.lastIndexOf(close, to - 1)
    }
  }
  return undefined
}
