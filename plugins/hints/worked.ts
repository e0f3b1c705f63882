// Hints made from a task's worked solution, without a model. In the papers, models write them.
//
// Lines of the working are revealed in order. The last line is never revealed, nor the first line that reveals the
// answer or any line after it. A hint bank has Scaf-GRPO's tiers (arXiv 2510.19807): knowledge (method and set-up),
// planning (the lines, with numbers that are not in the question masked) and solution (the lines), each split into
// at most four pieces.

import type { Privileged } from '../../protocol/plugin/index.ts'
import type { Step } from '../../protocol/train/index.ts'

type Leaks = (text: string) => boolean

export const TIERS = ['knowledge', 'planning', 'solution'] as const
export type Tier = (typeof TIERS)[number]
const PIECES = 4

/** The whole working, for the model that writes hints; just the answer if the task has no working. */
export function solutionOf({ key, steps }: Privileged): string {
  const working = steps.filter(({ aside }) => !aside)
  return working.length > 0 ? working.map(({ text }) => text).join('\n') : key
}

/** The lines that may be revealed, in order. */
export function shown(steps: readonly Step[], leaks: Leaks): Step[] {
  return untilLeak(
    steps.filter(({ level }) => level < 5),
    ({ text }) => text,
    leaks,
  )
}

/** One text per level, each with more lines than the one before; fewer levels if there are few lines. */
export function progressive(steps: readonly Step[], levels: number, leaks: Leaks): string[] {
  const lines = shown(steps, leaks).map(({ text }) => text)
  const ends = Array.from({ length: levels }, (_, i) => Math.ceil((lines.length * (i + 1)) / levels))
  return [...new Set(ends)].filter((end) => end > 0).map((end) => lines.slice(0, end).join('\n'))
}

/** The pieces of each tier, in order. */
export function bankOf(question: string, steps: readonly Step[], leaks: Leaks): Record<Tier, string[]> {
  const lines = shown(steps, leaks)
  const given = new Set(question.match(NUMBER))
  const plan = steps
    .filter(({ level, aside }) => level > 1 && !aside)
    .map((step) => withoutValues(step, given))
  return {
    knowledge: pieces(lines.filter(({ level }) => level <= 2).map(({ text }) => text)),
    planning: pieces(untilLeak([...new Set(plan)], (text) => text, leaks)),
    solution: pieces(lines.filter(({ level }) => level > 1).map(({ text }) => text)),
  }
}

const NUMBER = /(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)/g

/** Replaces the line's result, and all numbers that are not in the question, with question marks. */
function withoutValues({ text, value }: Step, given: ReadonlySet<string>): string {
  const plain = value === undefined ? text : text.replaceAll(value, '?')
  return plain.replace(NUMBER, (number) => (given.has(number) ? number : '?'))
}

function untilLeak<Line>(lines: readonly Line[], textOf: (line: Line) => string, leaks: Leaks): Line[] {
  const leak = lines.findIndex((_, i) =>
    leaks(
      lines
        .slice(0, i + 1)
        .map(textOf)
        .join('\n'),
    ),
  )
  return leak < 0 ? [...lines] : lines.slice(0, leak)
}

/** Splits into at most four pieces with about the same number of lines. */
function pieces(lines: readonly string[]): string[] {
  const count = Math.min(PIECES, lines.length)
  const at = (i: number): number => Math.round((lines.length * i) / count)
  return Array.from({ length: count }, (_, i) => lines.slice(at(i), at(i + 1)).join('\n'))
}
