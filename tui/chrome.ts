// The frame around every tab: header, tab bar, rule and footer, as rows of text.

import { clockTime, count, duration, type Snapshot } from '../protocol/api/index.ts'
import type { ReplayPosition } from './data/replay.ts'
import type { View } from './data/store.ts'
import type { Theme } from './screen/theme.ts'
import type { Tab } from './tabs/tab.ts'
import { bar } from './widgets/chart.ts'
import { stateTone } from './widgets/judge.ts'
import { firstThatFits, type Piece, type Row, spread } from './widgets/row.ts'

export function header(view: View, columns: number, { symbols }: Theme, host: string | undefined): Row {
  const { snapshot, contact } = view
  const position: Piece[] = host ? ['  ', ['bold', host]] : []
  if (contact === 'lost') {
    const age = duration(view.now - view.heardAt)
    const lost = ` ${symbols.failed} LOST  no contact for ${age}`
    const who = snapshot ? `  ${snapshot.node.name}` : ''
    const seen = snapshot ? `, last seen at step ${count(snapshot.training?.step)}` : ''
    const text = firstThatFits(columns, [`${lost}${who}${seen}`, `${lost}${who}`, lost]) as string
    return [['failure', text.padEnd(columns)]]
  }
  if (!snapshot) return [' waiting for the daemon', ...position]
  const { state, node, training, swarm, alerts = [] } = snapshot
  const tone = stateTone(state)
  const left: Piece[] = [
    [
      tone,
      ` ${tone === 'ok' ? symbols.up : tone === 'attention' ? symbols.look : symbols.failed} ${state}${shareDone(snapshot)}`,
    ],
    training ? `  step ${count(training.step)}  ` : '  ',
    ['bold', node.name],
    swarm?.enabled && swarm.name ? ` in ${swarm.name}` : '',
    ...position,
  ]
  const right: Piece[] = [
    alerts.length > 0
      ? ['attention', `${symbols.look} ${alerts.length} alert${alerts.length > 1 ? 's' : ''}`]
      : '',
    `   up ${duration(snapshot.time - node.startedAt)} `,
  ]
  return spread(left, right, columns)
}

/** How far the phase is that the state names. */
function shareDone({ phases: [phase] = [] }: Snapshot): string {
  return phase?.fraction === undefined ? '' : ` ${Math.floor(100 * phase.fraction)} %`
}

const labelsOf = (tabs: readonly Tab[], columns: number): string[] =>
  tabs.map(({ title, short }, i) => `${i + 1} ${columns >= 100 ? title : short}`)

/** The tab whose name is at this column of the bar. */
export function tabAt(tabs: readonly Tab[], columns: number, column: number): number | undefined {
  let left = 1
  for (const [i, label] of labelsOf(tabs, columns).entries()) {
    if (column >= left && column < left + label.length + 2) return i
    left += label.length + 3
  }
  return undefined
}

export function tabBar(tabs: readonly Tab[], current: number, columns: number): Row {
  const pieces = labelsOf(tabs, columns).map((label, i): Piece => {
    return i === current ? ['bold', `[${label}]`] : ` ${label} `
  })
  return spread([' ', ...pieces.flatMap((p) => [p, ' '])], columns >= 100 ? '? help ' : '? ', columns)
}

interface FooterFacts {
  frozen: boolean
  contact: View['contact']
  intervalMs: number
  note: Row | undefined
  columns: number
  position: ReplayPosition | undefined
  theme: Theme
  /** Whether there is room for boxes and a tab bar. */
  boxed: boolean
}

export function footer(tab: Tab, number: number, facts: FooterFacts): Row {
  const { frozen, contact, intervalMs, note, columns, position, boxed } = facts
  if (note) return note
  if (position) return slider(position, facts)
  const right = frozen
    ? 'frozen '
    : contact === 'live'
      ? `live ${intervalMs} ms `
      : contact === 'lost'
        ? 'r reconnect '
        : 'waiting '
  const name = boxed ? '' : ` ${number + 1} ${tab.title} `
  const hints = boxed
    ? ['q detach', ': command', ...tab.keys.split('  '), '? help']
    : ['1-6 tabs', 'q detach', '? help', ': command']
  return spread([['bold', name], ...fitting(hints, columns - name.length - right.length - 1)], right, columns)
}

/** As many hints as fit, none truncated. */
function fitting(hints: readonly string[], room: number): string[] {
  let used = 0
  return hints.flatMap((hint) => {
    if (used + hint.length + 2 > room) return []
    used += hint.length + 2
    return [` ${hint} `]
  })
}

/** The position of a replay within its run. */
function slider({ from, to, at, running, speed }: ReplayPosition, { columns, theme }: FooterFacts): Row {
  const left = ` ${running ? 'playing' : 'stopped'} x${speed}  ${clockTime(at)}  `
  const right = `  ${duration(at - from)} of ${duration(to - from)}${columns >= 80 ? '   [ ] move  < > speed  Space' : ''} `
  const room = Math.max(4, columns - left.length - right.length)
  return [left, ['bold', bar(to > from ? (at - from) / (to - from) : 1, room, theme)], right]
}
