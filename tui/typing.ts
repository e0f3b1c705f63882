// A line being typed at the bottom of the screen: a filter, a search or a command. Pure: takes a key, returns the
// next state.

import type { TopCommand } from './commands.ts'
import type { Key } from './screen/decode.ts'

export type LineKind = 'filter' | 'search' | 'command'

export interface Line {
  kind: LineKind
  text: string
  /** Position in the command history, counted back from the newest; 0 is the line being typed. */
  back: number
}

export const PROMPT: Record<LineKind, string> = { filter: '&', search: '/', command: ':' }
const LONGEST = 400

export type Typed = { state: 'typing'; line: Line } | { state: 'done'; line: Line } | { state: 'given up' }

/** A command and its possible arguments; one that ends with `=` continues with a value. */
type Completable = Pick<TopCommand, 'name' | 'completes'>

interface TypingParts {
  /** Past commands, newest last. */
  history: readonly string[]
  /** Commands available for completion. */
  commands: readonly Completable[]
}

export function openLine(kind: LineKind, text = ''): Line {
  return { kind, text, back: 0 }
}

export function typeKey(line: Line, { name, text }: Key, { history, commands }: TypingParts): Typed {
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
      return line.kind === 'command' ? to({ text: completed(line.text, commands) }) : to({})
    case 'upArrow':
    case 'downArrow': {
      if (line.kind !== 'command') return to({})
      const back = Math.max(0, Math.min(history.length, line.back + (name === 'upArrow' ? 1 : -1)))
      return to({ back, text: back === 0 ? '' : history[history.length - back]! })
    }
  }
  if (name === 'backspace' || name === 'delete')
    return line.text === '' ? { state: 'given up' } : to({ text: [...line.text].slice(0, -1).join('') })
  return to({ text: (line.text + text).slice(0, LONGEST) })
}

/** Completes the last word to the longest prefix that all matches share. */
export function completed(text: string, commands: readonly Completable[]): string {
  const at = text.search(/\S*$/)
  const typed = text.slice(at)
  const name = text.slice(0, at).trim().split(/\s+/)[0]!
  const words =
    name === '' ? commands.map((one) => one.name) : commands.find((one) => one.name === name)?.completes
  const fitting = (words ?? []).filter((word) => word.startsWith(typed))
  const [first] = fitting
  if (first === undefined) return text
  const before = text.slice(0, at)
  if (fitting.length === 1) return `${before}${first}${first.endsWith('=') ? '' : ' '}`
  let length = typed.length
  while (length < first.length && fitting.every((word) => word.startsWith(first.slice(0, length + 1))))
    length += 1
  return before + first.slice(0, length)
}
