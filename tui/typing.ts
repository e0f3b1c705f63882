// A line that is being typed at the bottom of the screen: a filter, a search, or a command. Pure: a key in, the next
// state out.

import type { Stroke } from './keys.ts'

export type LineKind = 'filter' | 'search' | 'command'

export interface Line {
  kind: LineKind
  text: string
  /** Place in the history of commands, counted back from the newest; 0 is what is being typed. */
  back: number
}

export const PROMPT: Record<LineKind, string> = { filter: '&', search: '/', command: ':' }
const LONGEST = 400

export type Typed = { state: 'typing'; line: Line } | { state: 'done'; line: Line } | { state: 'given up' }

export interface TypingParts {
  /** Commands that were given, the newest last. */
  history: readonly string[]
  /** Words that a first word may be completed to. */
  words: readonly string[]
}

export function openLine(kind: LineKind, text = ''): Line {
  return { kind, text, back: 0 }
}

export function typeKey(line: Line, { name, text, erases }: Stroke, { history, words }: TypingParts): Typed {
  const to = (change: Partial<Line>): Typed => ({ state: 'typing', line: { ...line, ...change } })
  switch (name) {
    case 'return':
      return { state: 'done', line }
    case 'escape':
      return { state: 'given up' }
    case 'ctrl-u':
      return to({ text: '' })
    case 'ctrl-w':
      return to({ text: line.text.replace(/\S*\s*$/, '') })
    case 'tab':
      return line.kind === 'command' ? to({ text: completed(line.text, words) }) : to({})
    case 'upArrow':
    case 'downArrow': {
      if (line.kind !== 'command') return to({})
      const back = Math.max(0, Math.min(history.length, line.back + (name === 'upArrow' ? 1 : -1)))
      return to({ back, text: back === 0 ? '' : history[history.length - back]! })
    }
  }
  if (erases)
    return line.text === '' ? { state: 'given up' } : to({ text: [...line.text].slice(0, -1).join('') })
  return to({ text: (line.text + text).slice(0, LONGEST) })
}

/** To the longest beginning that all fitting words share. */
export function completed(text: string, words: readonly string[]): string {
  if (/\s/.test(text)) return text
  const fitting = words.filter((word) => word.startsWith(text))
  const [first] = fitting
  if (first === undefined) return text
  if (fitting.length === 1) return `${first} `
  let length = text.length
  while (length < first.length && fitting.every((word) => word.startsWith(first.slice(0, length + 1))))
    length += 1
  return first.slice(0, length)
}
