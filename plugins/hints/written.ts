// Reading what a model wrote as a hint: a pair of tags (HiLL, arXiv 2604.00698), or three levels in JSON (SAGE,
// arXiv 2602.03143) by the ladder of its code: fenced block, first brace, lenient, outermost braces.
//
// A hint goes back into a prompt, so control characters go, and one that is longer than a hint can be is none.

import { safeText } from '../../protocol/text.ts'

/** In UTF-16 units. */
const LONGEST = 4000

/** The text in the first pair of tags, whatever their case; undefined if there is none, or nothing in it. */
export function inTags(text: string, tag: string): string | undefined {
  return clean(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'i').exec(text)?.[1])
}

/** `level_1` to `level_<count>`, each a text; undefined if any is missing or there is more beside them. */
export function levelsIn(text: string, count: number): string[] | undefined {
  for (const candidate of candidates(text)) {
    const levels = levelsOf(parsed(candidate), count)
    if (levels) return levels
  }
  return undefined
}

function* candidates(text: string): Generator<string> {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/i.exec(text)?.[1]
  if (fenced !== undefined) yield fenced
  const first = text.indexOf('{')
  if (first < 0) return
  const closing = closingBrace(text, first)
  const last = text.lastIndexOf('}')
  const spans = [closing, last].filter((end) => end > first).map((end) => text.slice(first, end + 1))
  yield* spans.slice(0, 1)
  yield* [fenced ?? '', ...spans].map(strict)
  yield* spans.slice(1)
}

/** Of the object that opens at `start`; -1 if it never closes. Braces in double-quoted strings do not count. */
function closingBrace(text: string, start: number): number {
  let depth = 0
  let quoted = false
  for (let i = start; i < text.length; i++) {
    const char = text[i]
    if (quoted && char === '\\') i++
    else if (char === '"') quoted = !quoted
    else if (!quoted && char === '{') depth++
    else if (!quoted && char === '}' && --depth === 0) return i
  }
  return -1
}

/** What people write for JSON: names without quotes or with single ones, a comma too many, line breaks in strings. */
function strict(text: string): string {
  return text
    .replace(/([{,]\s*)'?(\w+)'?\s*:/g, '$1"$2":')
    .replace(
      /:\s*'((?:[^'\\\n]|\\.)*)'/g,
      (_, value: string) => `:${JSON.stringify(value.replace(/\\'/g, "'"))}`,
    )
    .replace(/"(?:[^"\\]|\\.)*"/g, (value) => value.replace(/\n/g, '\\n').replace(/\t/g, '\\t'))
    .replace(/,\s*([}\]])/g, '$1')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function levelsOf(value: unknown, count: number): string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const names = Array.from({ length: count }, (_, i) => `level_${i + 1}`)
  const record = value as Record<string, unknown>
  const levels = names.map((name) => (typeof record[name] === 'string' ? clean(record[name]) : undefined))
  const isWhole = Object.keys(record).length === count && levels.every((level) => level !== undefined)
  return isWhole ? (levels as string[]) : undefined
}

function clean(text: string | undefined): string | undefined {
  const safe = safeText(text ?? '', { limit: LONGEST + 1 }).trim()
  return safe === '' || safe.length > LONGEST ? undefined : safe
}
