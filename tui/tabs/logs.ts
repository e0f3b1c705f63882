// The log, newest line at the bottom. Follows new lines until scrolled; draws only visible lines. `/` searches and
// keeps the other lines visible, `&` filters.

import {
  clockTime,
  count,
  type Event,
  eventLevel,
  eventText,
  LOG_LEVELS,
  type LogLevel,
} from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import { filterNote, filterOf } from '../filter.ts'
import type { Theme, Tone } from '../screen/theme.ts'
import { panel } from '../widgets/panel.ts'
import type { Piece, Row } from '../widgets/row.ts'
import { wrapText } from '../widgets/wrap.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

export const logs: Tab = {
  title: 'Logs',
  short: 'Logs',
  series: [],
  upward: true,
  searches: true,
  keys: 'f follow  s level  / find n N  & filter  w wrap  Enter JSON',
  render: (props) => {
    const { columns, rows, theme } = props
    const inside = { ...props, columns: columns - 4, rows: rows - 2 }
    return panel({ title: titleOf(props), width: columns, height: rows, theme, rows: logRows(inside) })
  },
  compact: (props): Row[] => [[['bold', titleOf(props)]], ...logRows({ ...props, rows: props.rows - 1 })],
  items: (view, ui) => eventsOf(view, ui).reverse(),
  find,
  hit(props, _column, row) {
    const { item } = placedRows({ ...props, columns: props.columns - 4, rows: props.rows - 2 })[row - 1] ?? {}
    return item === undefined ? undefined : { item }
  },
  copied: (view, ui) => {
    const found = eventsOf(view, ui)
    const chosen = found[found.length - 1 - Math.min(ui.cursor, found.length - 1)]
    // Only the node's own events; text from peers is never copied.
    return chosen && ['step', 'eval', 'checkpoint', 'state'].includes(chosen.type)
      ? JSON.stringify(chosen)
      : undefined
  },
  exported: (view, ui) => ({
    kind: 'jsonl',
    text: eventsOf(view, ui)
      .map((event) => `${JSON.stringify(event)}\n`)
      .join(''),
  }),
}

/** Levels in the order in which `s` cycles through them. */
const LEVELS: readonly LogLevel[] = ['info', 'debug', 'error', 'warn']
const TONES: Record<LogLevel, Tone> = { error: 'failure', warn: 'attention', info: 'ok', debug: 'plain' }
const MAX_WRAPPED = 6

const textOf = (event: Event): string => eventText(event) ?? event.type

function eventsOf({ events }: View, ui: TabUi): Event[] {
  const limit = LOG_LEVELS.indexOf(LEVELS[ui.sort % LEVELS.length]!)
  const { matches } = filterOf(ui.filter)
  return events.filter(
    (event) => LOG_LEVELS.indexOf(eventLevel(event)) <= limit && (ui.filter === '' || matches(textOf(event))),
  )
}

/**
 * Searches from the cursor towards older lines with 1, newer ones with -1; the cursor counts from the newest.
 */
function find(view: View, ui: TabUi, by: 1 | -1): number | undefined {
  const { matches, problem } = filterOf(ui.search)
  if (ui.search === '' || problem) return undefined
  const found = eventsOf(view, ui)
  for (let at = ui.cursor + by; at >= 0 && at < found.length; at += by) {
    if (matches(textOf(found[found.length - 1 - at]!))) return at
  }
  // Falls back to the cursor's own line.
  const here = found[found.length - 1 - ui.cursor]
  return here && matches(textOf(here)) ? ui.cursor : undefined
}

function titleOf({ view, ui }: TabProps): string {
  const found = eventsOf(view, ui)
  const behind = Math.min(ui.cursor, Math.max(0, found.length - 1))
  const level = LEVELS[ui.sort % LEVELS.length]
  const place = behind === 0 ? 'following' : `${count(behind)} newer below`
  return `Log  ${level} and up  ${place}${filterNote(ui.filter, 'only')}${filterNote(ui.search, 'find')}`
}

const logRows = (props: TabProps): Row[] => placedRows(props).map(({ row }) => row)

/** The rows of the log, and which event each is of, counted from the newest. */
function placedRows({ view, ui, columns, rows, theme }: TabProps): Array<{ row: Row; item?: number }> {
  const found = eventsOf(view, ui)
  if (found.length === 0) return [{ row: ui.filter ? 'no line matches the filter' : 'nothing yet' }]
  const behind = Math.min(ui.cursor, found.length - 1)
  const chosen = found[found.length - 1 - behind]
  const detail = ui.open && chosen ? wrapText(JSON.stringify(chosen), columns).slice(0, MAX_WRAPPED) : []
  const room = Math.max(1, rows - (detail.length > 0 ? detail.length + 1 : 0))
  const lines: Array<{ row: Row; item?: number }> = []
  const placed = (item: number) => {
    const event = found[found.length - 1 - item]!
    const isChosen = event === chosen && (behind > 0 || ui.open)
    return rowsOf(event, isChosen, ui, columns, theme).map((row) => ({ row, item }))
  }
  // Upwards from the cursor's line until the space is used up, then newer lines below it.
  for (let item = behind; item < found.length && lines.length < room; item++) lines.unshift(...placed(item))
  for (let item = behind - 1; item >= 0 && lines.length < room; item--) lines.push(...placed(item))
  const shown = lines.slice(-room)
  while (detail.length > 0 && shown.length < room) shown.push({ row: '' })
  return detail.length > 0 ? [...shown, { row: '' }, ...detail.map((row) => ({ row }))] : shown
}

const HEAD = 17

function rowsOf(event: Event, chosen: boolean, ui: TabUi, columns: number, { symbols }: Theme): Row[] {
  const level = eventLevel(event)
  const head: Piece[] = [
    chosen ? ['bold', `${symbols.cursor} `] : '  ',
    `${clockTime(event.time)} `,
    [TONES[level], level.padEnd(5)],
    ' ',
  ]
  const text = textOf(event)
  if (!ui.wrap) return [[...head, ...marked(text, ui.search)]]
  const [first = '', ...rest] = wrapText(text, columns - HEAD).slice(0, MAX_WRAPPED)
  return [
    [...head, ...marked(first, ui.search)],
    ...rest.map((part): Row => [' '.repeat(HEAD), ...marked(part, ui.search)]),
  ]
}

/** Highlights the search text. */
function marked(text: string, search: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const [start, end] of filterOf(search).found(text)) {
    pieces.push(text.slice(at, start), ['inverse', text.slice(start, end)])
    at = end
  }
  return [...pieces, text.slice(at)]
}
