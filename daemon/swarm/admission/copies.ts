// Detects groups that mostly copy another author's text. The first to arrive need not be the original: a copy, with
// invented log-probs, may take a shorter path. So if a known author has written the text, it is refused from an unknown
// author. Between two known or two unknown authors, both groups are accepted.
//
// If several honest nodes with the same model get the same prompt, some of their texts are identical: those that the
// policy writes most often. A text that occurs more than once in a group is such a text and proves nothing.
//
// Texts are stored as digests: 8192 groups of 64 long texts would take half a gigabyte.

import { createHash } from 'node:crypto'

export interface Said {
  /** Key of the prompt. */
  prompt: string
  author: string
  /** Normalised, as for the content id. */
  texts: readonly string[]
}

/** Maximum number of prompts remembered, and of authors per prompt. */
const PROMPTS = 2048
const AUTHORS = 4
/** Shorter texts can be equal by chance, such as `<answer>7</answer>`. */
const MIN_CHARS = 32

export class Copies {
  private readonly isKnown: (author: string) => boolean
  /** Digests of texts, by prompt and author. */
  private readonly texts = new Map<string, Map<string, Set<string>>>()

  constructor(_options: object, { isKnown }: { isKnown(author: string): boolean }) {
    this.isKnown = isKnown
  }

  /** True if the author is unknown and a known author wrote at least half of its longer texts for the same prompt. */
  isCopy({ prompt, author, texts }: Said): boolean {
    const authors = this.texts.get(prompt)
    if (authors === undefined || this.isKnown(author)) return false
    const long = texts.filter(isLong).map(digestOf)
    return [...authors].some(([other, before]) => {
      if (other === author || !this.isKnown(other)) return false
      const known = long.filter((text) => before.has(text)).length
      return known > 0 && known * 2 >= long.length
    })
  }

  /** Remembers a verified group's texts. */
  admit({ prompt, author, texts }: Said): void {
    const long = texts.filter((text) => isLong(text) && texts.indexOf(text) === texts.lastIndexOf(text))
    if (long.length === 0) return
    let authors = this.texts.get(prompt)
    if (authors === undefined) {
      if (this.texts.size >= PROMPTS) this.texts.delete(this.texts.keys().next().value!)
      authors = new Map()
      this.texts.set(prompt, authors)
    }
    if (!authors.has(author) && authors.size >= AUTHORS) {
      const [first] = [...authors.keys()].filter((one) => !this.isKnown(one))
      if (first === undefined) return
      authors.delete(first)
    }
    authors.set(author, new Set([...(authors.get(author) ?? []), ...long.map(digestOf)].slice(-64)))
  }
}

function isLong(text: string): boolean {
  return text.length >= MIN_CHARS
}

/** 96 bits. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest().toString('base64', 0, 12)
}
