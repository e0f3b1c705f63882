// Parses hints written by a model: text between a pair of tags (HiLL, arXiv 2604.00698), or levels in JSON (SAGE,
// arXiv 2602.03143) with the fallbacks of its code: fenced block, first brace, lenient, outermost braces.
//
// Hints go into prompts, so control characters are removed, and texts that are too long are rejected.

import { safeText } from '../../protocol/text.ts'

/** Maximum length of a hint, in UTF-16 units. */
const LONGEST = 4000

/** The text in the first pair of tags, ignoring case; undefined if there is none or it is empty. */
export function inTags(text: string, tag: string): string | undefined {
  return clean(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'i').exec(text)?.[1])
}

/** The texts `level_1` to `level_<count>`; undefined if one is missing or there are other keys. */
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

/**
 * Index of the brace that closes the object at `start`, or -1. Braces in double-quoted strings do not count.
 */
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

/** Repairs almost-JSON: keys without or with single quotes, trailing commas, line breaks in strings. */
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
