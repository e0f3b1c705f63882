// Logs: what happened, newest at the bottom. Follows until scrolled; only the lines in sight are ever drawn.

import type { ReactElement } from 'react'
import {
  clockTime,
  type Event,
  eventLevel,
  eventText,
  LOG_LEVELS,
  type LogLevel,
} from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme, Tone } from '../screen/theme.ts'
import { Panel } from '../widgets/panel.tsx'
import type { Row } from '../widgets/row.ts'
import { wrapText } from '../widgets/wrap.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

export const logs: Tab = {
  title: 'Logs',
  short: 'Logs',
  series: [],
  upward: true,
  keys: 'j/k scroll  G follow  s level  / filter  Enter JSON',
  render: (props) => <Logs {...props} />,
  count: (view, ui) => eventsOf(view, ui).length,
}

/** Levels in the order in which `s` goes through them. */
const LEVELS: readonly LogLevel[] = ['info', 'debug', 'error', 'warn']
const TONES: Record<LogLevel, Tone> = { error: 'failure', warn: 'attention', info: 'ok', debug: 'plain' }

function eventsOf({ events }: View, ui: TabUi): Event[] {
  const limit = LOG_LEVELS.indexOf(LEVELS[ui.sort % LEVELS.length]!)
  const wanted = ui.filter.toLowerCase()
  return events.filter((event) => {
    if (LOG_LEVELS.indexOf(eventLevel(event)) > limit) return false
    return wanted === '' || (eventText(event) ?? '').toLowerCase().includes(wanted)
  })
}

function Logs({ view, ui, columns, rows, theme }: TabProps): ReactElement {
  const found = eventsOf(view, ui)
  const behind = Math.min(ui.cursor, Math.max(0, found.length - 1))
  const chosen = found[found.length - 1 - behind]
  const detail = ui.open && chosen ? wrapText(JSON.stringify(chosen), columns - 4).slice(0, 6) : []
  const room = rows - 2 - (detail.length > 0 ? detail.length + 1 : 0)
  const end = found.length - behind
  const lines: Row[] = found
    .slice(Math.max(0, end - room), end)
    .map((event) => lineOf(event, event === chosen && (behind > 0 || ui.open), theme))
  const level = LEVELS[ui.sort % LEVELS.length]
  const place = behind === 0 ? 'following' : `${behind} newer below`
  const title = `Log  ${level} and up  ${place}${ui.filter ? `  filter: ${ui.filter}` : ''}`
  const body: Row[] = lines.length > 0 ? lines : ['nothing yet']
  while (body.length < room) body.push('')
  if (detail.length > 0) body.push('', ...detail)
  return <Panel title={title} width={columns} height={rows} theme={theme} rows={body} />
}

function lineOf(event: Event, chosen: boolean, { symbols }: Theme): Row {
  const level = eventLevel(event)
  return [
    chosen ? ['bold', `${symbols.cursor} `] : '  ',
    `${clockTime(event.time)} `,
    [TONES[level], level.padEnd(5)],
    ` ${eventText(event) ?? event.type}`,
  ]
}
