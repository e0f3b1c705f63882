// What needs the operator's attention: the node's alerts, then advice, then notable events to fill the space.
// Newest first.

import {
  adviceOn,
  clockTime,
  count,
  eventText,
  nextText,
  percent,
  type Snapshot,
} from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { fallen } from '../widgets/judge.ts'
import type { Piece, Row } from '../widgets/row.ts'
import { wrapText } from '../widgets/wrap.ts'

/** Whole texts if there is room for all of them, or else the beginning of each. */
export function attentionRows(
  view: View,
  theme: Theme,
  { width, height }: { width: number; height: number },
): Row[] {
  const { snapshot } = view
  if (!snapshot) return ['nothing']
  const { symbols } = theme
  // What was true of the node need not be any more.
  if (view.contact === 'lost') {
    const lost: Row = [['failure', `${symbols.failed} `], `no contact, see \`:status\`: ${view.lostReason}`]
    return [lost, ...notable(view, height - 1)]
  }
  const found: [mark: Piece, text: string][] = (snapshot.alerts ?? []).map(
    ({ time, level, message, action }) => [
      level === 'failure' ? ['failure', `${symbols.failed} `] : ['attention', `${symbols.look} `],
      `${clockTime(time).slice(0, 5)} ${message}${action ? ` - ${action}` : ''}`,
    ],
  )
  for (const { level, text, action } of [...entropyAdvice(view), ...adviceOn(snapshot)])
    found.push([
      level === 'attention' ? ['attention', `${symbols.look} `] : '  ',
      `${text} - ${typed(action)}`,
    ])
  if (found.length === 0 && height > 1) found.push([['ok', `${symbols.up} `], idle(snapshot)])
  const whole = found.flatMap(([mark, text]) =>
    wrapText(text, width - 2).map((line, i): Row => [i === 0 ? mark : '  ', line]),
  )
  const rows = whole.length <= height ? whole : found
  return [...rows, ...notable(view, height - rows.length)]
}

function idle({ training: t }: Snapshot): string {
  return t?.next && t.step === 0 ? `nothing needs you: ${nextText(t.next, 0)}` : 'nothing needs you'
}

/** Shows commands as they are typed on this screen. */
const typed = (action: string): string => action.replace(/`([a-z])/g, '`:$1')

/** If entropy falls by half, the policy will soon give only one answer. */
function entropyAdvice({ series }: View) {
  const found = fallen(series.get('entropy'), 0.4)
  return found
    ? [
        {
          level: 'attention' as const,
          text: `entropy fell ${found.percent} in ${found.over}: answers become uniform`,
          action: 'see 4 Training; lower the learning rate, or use harder tasks',
        },
      ]
    : []
}

function notable({ events }: View, room: number): Row[] {
  const rows: Row[] = []
  for (let i = events.length - 1; i >= 0 && rows.length < room; i--) {
    const event = events[i]!
    const said =
      event.type === 'checkpoint'
        ? `checkpoint of step ${count(event.step)} saved`
        : event.type === 'peer' && event.change !== 'found'
          ? `peer ${event.name} ${event.change}${event.reason ? `: ${event.reason}` : ''}`
          : event.type === 'eval'
            ? `held-out ${percent(event.accuracy)} at step ${count(event.step)}`
            : event.type === 'sharing' || event.type === 'guard'
              ? eventText(event)
              : undefined
    if (said) rows.push(`  ${clockTime(event.time).slice(0, 5)} ${said}`)
  }
  return rows
}
