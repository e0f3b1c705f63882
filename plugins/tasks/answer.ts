// Finds the answer in a completion and scores it: 1 if it is right, else 0.
//
// One pass with one variable, the pending opening tag, so the cost is linear in the text. A later opening tag
// replaces a pending one, so mentioning the tag in the reasoning does no harm. The last closed pair counts.
// Tags are lower case and exact. Callers pass a predicate that gets the trimmed answer and must not throw.

import { MAX_COMPLETION_CHARS, type Verdict } from '../../protocol/train/index.ts'

const OPEN = '<answer>'
const CLOSE = '</answer>'
const SHOWN_CHARS = 256

/** Unicode White_Space and U+001C..1F. Written out, since trim() differs between languages; U+FEFF stays. */
const SPACES = new Set(
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
)

export function trimSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && SPACES.has(text[start]!)) start++
  while (end > start && SPACES.has(text[end - 1]!)) end--
  return text.slice(start, end)
}

export interface Found {
  text: string | null
  found: Verdict['found']
}

export function findAnswer(completion: string): Found {
  let pending = -1
  let answer: string | null = null
  for (let at = completion.indexOf('<'); at >= 0; at = completion.indexOf('<', at + 1)) {
    if (completion.startsWith(OPEN, at)) pending = at + OPEN.length
    else if (pending >= 0 && completion.startsWith(CLOSE, at)) {
      answer = completion.slice(pending, at)
      pending = -1
    }
  }
  if (answer !== null) return { text: trimSpaces(answer), found: 'tag' }
  const line = lastLine(completion)
  return line === null ? { text: null, found: 'none' } : { text: line, found: 'last-line' }
}

function lastLine(text: string): string | null {
  const trimmed = trimSpaces(text)
  if (trimmed === '') return null
  const start = Math.max(trimmed.lastIndexOf('\n'), trimmed.lastIndexOf('\r')) + 1
  return trimSpaces(trimmed.slice(start))
}

/** An answer outside the tags is reported, but scores 0. */
export function judge(completion: string, isRight: (answer: string) => boolean): Verdict {
  return scored(completion, ({ text, found }) => ({
    score: text !== null && found === 'tag' && isRight(text) ? 1 : 0,
  }))
}

/** A verdict with the score that the callback computes from what was found. */
export function scored(
  completion: string,
  scoreOf: (found: Found) => Pick<Verdict, 'score' | 'parts'>,
): Verdict {
  if (completion.length > MAX_COMPLETION_CHARS) return { score: 0, answer: null, found: 'none' }
  const answer = findAnswer(completion)
  return {
    ...scoreOf(answer),
    // Well-formed, because verdicts are stored and shown, and a cut may split a pair of surrogates.
    answer: answer.text === null ? null : answer.text.slice(0, SHOWN_CHARS).toWellFormed(),
    found: answer.found,
  }
}
