// Partial information about an answer, for hints on items whose working is too short to be shown in parts.
// Level 2 gives its length, 3 a part of it, 4 most of it. For short answers, candidates are given instead of parts:
// the answer and its neighbours.

import { leaksAnswer } from '../../protocol/plugin/index.ts'

/** Maximum length of an answer that is hidden among candidates. */
const SHORT = 2
const RANGES = ['09', 'az', 'AZ'] as const

/** The aside for a level; undefined if everything that could be said at this level would reveal the answer. */
export function asideAt(level: 2 | 3 | 4, key: string): string | undefined {
  const size = [...key].length
  const said =
    level === 2
      ? [`The answer has ${size} character${size === 1 ? '' : 's'}.`]
      : size <= SHORT
        ? [candidates(key, level === 3 ? 4 : 2)]
        : beginnings(key, level === 3 ? 1 / 3 : 2 / 3)
  return said.find((text) => text !== undefined && !leaksAnswer(key, text))
}

/** Beginnings of the key, longest first. A beginning can be as good as the key: 1.5 is the same number as 1.50. */
function beginnings(key: string, share: number): string[] {
  const most = Math.max(1, Math.floor(key.length * share))
  return Array.from({ length: most }, (_, i) => `It begins with ${key.slice(0, most - i).trim()}`)
}

/** The answer in a sorted list of values that end differently, at a position that the answer decides. */
function candidates(key: string, count: number): string | undefined {
  const last = key.at(-1)!
  const range = RANGES.find(([low, high]) => last >= low! && last <= high!)
  if (!range) return undefined
  const [low, high] = [range.charCodeAt(0), range.charCodeAt(1)]
  const code = last.charCodeAt(0)
  const before = (code * 7 + count) % count
  const from = Math.max(low, Math.min(high - count + 1, code - before))
  const all = Array.from({ length: count }, (_, i) => key.slice(0, -1) + String.fromCharCode(from + i))
  return `It is one of ${all.join(', ')}.`
}
