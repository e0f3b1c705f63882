// Edits of a list of experiences (Training-Free GRPO, arXiv 2510.08191): add, update, delete or none, using the ids
// shown with the list. A list of edits is parsed strictly: one malformed edit rejects the whole list.

import { z } from 'zod'
import { cleanText, jsonIn } from '../library/text.ts'

const WORDS = 32
const MAX = 16

const editSchema = z.union([
  z.strictObject({ operation: z.literal('ADD'), content: z.string() }),
  z.strictObject({ operation: z.literal('UPDATE'), id: z.string().max(16), content: z.string() }),
  z.strictObject({ operation: z.literal('DELETE'), id: z.string().max(16) }),
  z.strictObject({ operation: z.literal('NONE') }),
])
export type Edit = z.infer<typeof editSchema>

/** Undefined if the text has no valid list of edits. Contents are cleaned and cut to 32 words. */
export function editsIn(text: string): Edit[] | undefined {
  const parsed = z.array(editSchema).max(MAX).safeParse(jsonIn(text, '['))
  if (!parsed.success) return undefined
  return parsed.data.map((edit) => ('content' in edit ? { ...edit, content: shortened(edit.content) } : edit))
}

function shortened(content: string): string {
  return cleanText(content, { limit: 400 }).split(' ').slice(0, WORDS).join(' ')
}

/** The list with ids, as shown to the policy. */
export function numbered(texts: readonly string[]): string[] {
  return texts.map((text, i) => `[G${i}] ${text}`)
}

export interface Item {
  text: string
  /** Key of the prompt that it comes from. */
  from: string
  author: string
  step: number
}

/** Updating an unknown id adds an item, deleting one does nothing; empty texts are skipped; ids restart at G0. */
export function applyEdits(list: readonly Item[], edits: readonly Edit[], made: Omit<Item, 'text'>): Item[] {
  const items: Array<Item | undefined> = [...list]
  const added: Item[] = []
  for (const edit of edits) {
    if (edit.operation === 'NONE') continue
    const at = 'id' in edit ? Number(/^G(\d{1,4})$/.exec(edit.id)?.[1] ?? Number.NaN) : Number.NaN
    const known = at < list.length
    if (edit.operation === 'DELETE') {
      if (known) items[at] = undefined
    } else if (edit.content !== '') {
      const item = { ...made, text: edit.content }
      if (known) items[at] = item
      else added.push(item)
    }
  }
  const kept = [...items, ...added].filter((item) => item !== undefined)
  return kept.filter(({ text }, i) => kept.findIndex((other) => other.text === text) === i)
}
