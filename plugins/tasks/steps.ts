// Worked solutions: turns lines of working into steps with levels, which hints can reveal one after another.
//
// Levels are cumulative: 1 method, 2 first line, 3 further lines, 4 the last line but one, 5 the last line. Nothing
// before the last step may reveal the answer (the leak check), so all lines from the first one that reveals it are
// merged into one step. A line that merely contains the key is never below level 4, unless the question also contains
// the key (`keyInQuestion` in the item's data). Levels without a line of working are filled with asides, which are
// used only in hints.

import { leaksAnswer } from '../../protocol/plugin/index.ts'
import type { Step } from '../../protocol/train/index.ts'
import { asideAt } from './asides.ts'

export interface Line {
  text: string
  value?: string
  /** The lowest level that may show this line, if the task sets levels itself. */
  from?: 2 | 3 | 4
}

/** True if the token occurs in the text with no letter, digit or point next to it. */
export function showsToken(text: string, token: string): boolean {
  if (token === '') return false
  for (let at = text.indexOf(token); at >= 0; at = text.indexOf(token, at + 1))
    if (!touches(text[at - 1]) && !touches(text[at + token.length])) return true
  return false
}

function touches(char: string | undefined): boolean {
  return char !== undefined && /[0-9A-Za-z]/.test(char)
}

/** Turns lines of working into steps. The last line must contain the key. */
export function workedSteps(question: string, key: string, method: string, lines: readonly Line[]): Step[] {
  const open = showsToken(question, key)
  const shown = lines.slice(0, shownLines(lines, key))
  let level: 2 | 3 | 4 = 2
  const steps: Step[] = shown.map((line, i) => {
    const least = i === 0 ? 2 : i >= 2 && i === shown.length - 1 ? 4 : 3
    const shows = !open && showsToken(line.text, key)
    level = Math.max(level, least, line.from ?? 2, shows ? 4 : 2) as 2 | 3 | 4
    const { text, value } = line
    return { level, text, ...(value !== undefined && { value }) }
  })
  for (const missing of [2, 3, 4] as const) {
    const text = steps.some((step) => step.level === missing) ? undefined : asideAt(missing, key)
    if (text !== undefined) steps.push({ level: missing, text, aside: true })
  }
  const { value } = lines.at(-1)!
  const end = lines.slice(shown.length).map(({ text }) => text)
  return [
    { level: 1, text: method },
    ...steps.sort((a, b) => a.level - b.level),
    { level: 5, text: end.join('\n'), ...(value !== undefined && { value }) },
  ]
}

/** Number of lines, from the first, that can be shown without revealing the key; never includes the last one. */
function shownLines(lines: readonly Line[], key: string): number {
  let shown = ''
  for (const [i, { text }] of lines.entries()) {
    shown += `${text}\n`
    if (i === lines.length - 1 || leaksAnswer(key, text) || leaksAnswer(key, shown)) return i
  }
  return 0
}

/** What an item provides besides question, key and steps. */
export function stepData(question: string, key: string): { keyInQuestion: boolean } {
  return { keyInQuestion: showsToken(question, key) }
}
