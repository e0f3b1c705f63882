// Worked solutions: how lines of working become levelled steps that hints can reveal one after another.
//
// Levels are cumulative: 1 method, 2 first line, 3 further lines, 4 lines that already show the answer, 5 the last
// line. A line that shows the key is never below level 4, unless the question shows the key too: then no hint
// gives anything away, and the item says so in its data (`keyInQuestion`).

import type { Step } from '../../protocol/train/index.ts'

export interface Line {
  text: string
  value?: string
  /** Where the working has milestones of its own, the lowest level that may show this line. */
  from?: 2 | 3 | 4
}

/** True iff the token occurs in the text with no letter, digit or point touching it. */
export function showsToken(text: string, token: string): boolean {
  if (token === '') return false
  for (let at = text.indexOf(token); at >= 0; at = text.indexOf(token, at + 1))
    if (!touches(text[at - 1]) && !touches(text[at + token.length])) return true
  return false
}

function touches(char: string | undefined): boolean {
  return char !== undefined && /[0-9A-Za-z]/.test(char)
}

/** The last line must arrive at the key. */
export function workedSteps(question: string, key: string, method: string, lines: readonly Line[]): Step[] {
  const open = showsToken(question, key)
  const steps: Step[] = [{ level: 1, text: method }]
  let level: Step['level'] = 2
  for (const [i, line] of lines.entries()) {
    if (i === 1) level = Math.max(level, 3) as Step['level']
    if (line.from !== undefined) level = Math.max(level, line.from) as Step['level']
    if (!open && showsToken(line.text, key)) level = Math.max(level, 4) as Step['level']
    const step: Step = { level: i === lines.length - 1 ? 5 : level, text: line.text }
    if (line.value !== undefined) step.value = line.value
    steps.push(step)
  }
  return steps
}

/** What an item says about itself beside question, key and steps. */
export function stepData(question: string, key: string): { keyInQuestion: boolean } {
  return { keyInQuestion: showsToken(question, key) }
}
