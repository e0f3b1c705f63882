// A line being typed at the bottom of the screen: a filter, a search or a command. Pure: takes a key, returns the
// next state.

import type { TopCommand } from './commands.ts'
import { narrow } from './data/inert.ts'
import type { Key } from './screen/decode.ts'
import type { Row } from './widgets/row.ts'

export type LineKind = 'filter' | 'search' | 'command'

export interface Line {
  kind: LineKind
  /** What is before the cursor, and what is after it. */
  before: string
  after: string
  /** Position in the command history, counted back from the newest; 0 is the line being typed. */
  back: number
  /** Words that could come next, after Tab. */
  candidates: readonly string[]
}

const PROMPT: Record<LineKind, string> = { filter: '&', search: '/', command: ':' }
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
  return { kind, before: text, after: '', back: 0, candidates: [] }
}

export const textOf = ({ before, after }: Line): string => before + after

/** The keys of a line, for help. */
export const TYPING_KEYS: ReadonlyArray<readonly [keys: string, does: string]> = [
  ['Left Right', 'by a character; with Ctrl or Alt, by a word'],
  ['Ctrl-A -E', 'to the start, to the end; also Home, End'],
  ['Ctrl-U -K', 'delete to the start, to the end'],
  ['Ctrl-W', 'delete the word before; Ctrl-D, Del: the character after'],
  ['Up Down', 'earlier and later commands'],
  ['Tab', 'complete a command; if there are several, show them'],
  ['Enter Esc', 'done, give up'],
]

const EDITS: Record<string, (line: Line) => readonly [before: string, after: string]> = {
  leftArrow: ({ before, after }) => moved(before, after, -1),
  rightArrow: ({ before, after }) => moved(before, after, 1),
  'ctrl-b': ({ before, after }) => moved(before, after, -1),
  'ctrl-f': ({ before, after }) => moved(before, after, 1),
  home: ({ before, after }) => ['', before + after],
  end: ({ before, after }) => [before + after, ''],
  'ctrl-a': ({ before, after }) => ['', before + after],
  'ctrl-e': ({ before, after }) => [before + after, ''],
  'ctrl-leftArrow': wordBack,
  'alt-leftArrow': wordBack,
  'alt-b': wordBack,
  'ctrl-rightArrow': wordOn,
  'alt-rightArrow': wordOn,
  'alt-f': wordOn,
  'ctrl-u': ({ after }) => ['', after],
  'ctrl-k': ({ before }) => [before, ''],
  'ctrl-w': ({ before, after }) => [before.replace(/\S*\s*$/, ''), after],
  'alt-backspace': ({ before, after }) => [before.replace(/\S*\s*$/, ''), after],
  backspace: ({ before, after }) => [[...before].slice(0, -1).join(''), after],
  delete: ({ before, after }) => [before, [...after].slice(1).join('')],
  'ctrl-d': ({ before, after }) => [before, [...after].slice(1).join('')],
}

function moved(before: string, after: string, by: 1 | -1): readonly [string, string] {
  const all = [...before, ...after]
  const at = Math.min(all.length, Math.max(0, [...before].length + by))
  return [all.slice(0, at).join(''), all.slice(at).join('')]
}

function wordBack({ before, after }: Line): readonly [string, string] {
  const left = before.replace(/\S*\s*$/, '')
  return [left, before.slice(left.length) + after]
}

function wordOn({ before, after }: Line): readonly [string, string] {
  const right = after.replace(/^\s*\S*/, '')
  return [before + after.slice(0, after.length - right.length), right]
}

export function typeKey(line: Line, { name, text }: Key, { history, commands }: TypingParts): Typed {
  const to = (before: string, after = '', change: Partial<Line> = {}): Typed => ({
    state: 'typing',
    line: { ...line, candidates: [], before, after, ...change },
  })
  if (name === 'return') return { state: 'done', line }
  if (name === 'escape' || (name === 'backspace' && textOf(line) === '')) return { state: 'given up' }
  if (name === 'tab') {
    if (line.kind !== 'command') return to(line.before, line.after)
    const { text: before, candidates } = completed(line.before, commands)
    return to(before, line.after, { candidates })
  }
  if (name === 'upArrow' || name === 'downArrow') {
    if (line.kind !== 'command') return to(line.before, line.after)
    const back = Math.max(0, Math.min(history.length, line.back + (name === 'upArrow' ? 1 : -1)))
    return to(back === 0 ? '' : history[history.length - back]!, '', { back })
  }
  const edit = EDITS[name]
  if (edit) return to(...edit(line))
  const room = Math.max(0, LONGEST - textOf(line).length)
  return to(line.before + text.slice(0, room), line.after)
}

/** Completes the last word to the longest prefix that all matches share; if there are several, they are candidates. */
export function completed(
  text: string,
  commands: readonly Completable[],
): { text: string; candidates: readonly string[] } {
  const at = text.search(/\S*$/)
  const typed = text.slice(at)
  const name = text.slice(0, at).trim().split(/\s+/)[0]!
  const words =
    name === '' ? commands.map((one) => one.name) : commands.find((one) => one.name === name)?.completes
  const candidates = (words ?? []).filter((word) => word.startsWith(typed))
  const [first] = candidates
  if (first === undefined) return { text, candidates }
  const before = text.slice(0, at)
  if (candidates.length === 1)
    return { text: `${before}${first}${first.endsWith('=') ? '' : ' '}`, candidates: [] }
  let length = typed.length
  while (length < first.length && candidates.every((word) => word.startsWith(first.slice(0, length + 1))))
    length += 1
  return { text: before + first.slice(0, length), candidates }
}

/** The line as it is drawn: the cursor is seen, however long the line. */
export function lineRow({ kind, before, after }: Line, width: number): Row {
  const [left, right] = [[...narrow(before)], [...narrow(after)]]
  const shown = left.slice(Math.max(0, left.length - width + 4)).join('')
  const under = right[0]
  return [
    ['bold', ` ${PROMPT[kind]}${shown}`],
    under === undefined ? ['bold', '_'] : ['inverse', under],
    ['bold', right.slice(1, Math.max(1, width - shown.length - 3)).join('')],
  ]
}
