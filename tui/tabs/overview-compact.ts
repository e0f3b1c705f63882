// The overview in windows below 80 x 24: the same without boxes, or a single line if even that does not fit.

import { count, decimal, duration, percent, si } from '../../protocol/api/index.ts'
import { sparkline } from '../widgets/chart.ts'
import { judgeClipped, judgeKl, stateTone } from '../widgets/judge.ts'
import type { Row } from '../widgets/row.ts'
import { attentionRows } from './attention.ts'
import { doingRows, heldOutPieces, learntPieces, rewardPoints, rewardRow } from './overview-parts.ts'
import type { TabProps } from './tab.ts'

export function compactOverview({ view, columns, rows, theme }: TabProps): Row[] {
  const { snapshot, rates } = view
  const { training: t, rollouts: r, swarm, machine, checkpoint } = snapshot ?? {}
  const curve = (rewardPoints(view) ?? []).map(([, , v]) => v)
  const kl = t?.mismatchKl === undefined ? undefined : judgeKl(t.mismatchKl)
  const clipped = t?.clippedShare === undefined ? undefined : judgeClipped(t.clippedShare)
  const refused = Object.values(r?.refused ?? {}).reduce((a, b) => a + b, 0)
  const greedy = heldOutPieces(view, theme, { how: 'greedy', roomy: columns >= 60 })
  const all: Row[] = [
    ...doingRows(snapshot, columns),
    rewardRow(view, theme, columns),
    heldOutPieces(view, theme, { roomy: columns >= 60 }),
    ...(greedy.length > 0 ? [greedy] : []),
    sparkline(curve, Math.min(columns - 2, 58), theme).trimStart(),
    [
      `KL ${decimal(t?.mismatchKl)} `,
      kl ? [kl.tone, kl.word] : '',
      `  entropy ${decimal(t?.entropy)}  grad ${decimal(t?.gradientNorm)}  clip ${percent(t?.clippedShare)} `,
      clipped ? [clipped.tone, clipped.word] : '',
    ],
    swarm?.enabled
      ? `peers ${swarm.connected}  in ${count(r?.received)}  refused ${count(refused)}  out ${count(r?.published)}`
      : 'swarm off',
    learntPieces(view, theme, columns),
    `gen ${si(t?.generateTokensPerSecond)} tok/s  train ${si(t?.trainTokensPerSecond)} tok/s${rates.inPerMinute === undefined ? '' : `  in ${si(rates.inPerMinute)}/min`}`,
    `signal ${percent(r?.signalShare, 0)}  memory ${si(machine?.rssBytes, 'B')}  ckpt ${checkpoint && snapshot ? `${duration(snapshot.time - checkpoint.time)} ago` : '-'}`,
    '',
  ]
  const room = { width: columns, height: Math.max(0, rows - all.length) }
  return [...all, ...attentionRows(view, theme, room)].slice(0, rows)
}

/** The whole node in one row. */
export function oneLine({ view }: TabProps, note: Row | undefined): Row {
  if (note) return note
  const { snapshot } = view
  const peers = snapshot?.swarm?.connected ?? 0
  const state = view.contact === 'lost' ? 'LOST' : (snapshot?.state ?? 'STARTING')
  return [
    [stateTone(state), state],
    ` ${count(snapshot?.training?.step)}  r ${decimal(snapshot?.training?.reward)}  ${count(peers)} peer${peers === 1 ? '' : 's'}`,
    snapshot?.alerts?.length ? `  ! ${snapshot.alerts.length}` : '',
  ]
}
