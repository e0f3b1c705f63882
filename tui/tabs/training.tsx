// Training: six curves a page, each with its newest number and, where there is one, the limit that matters.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import { duration, type SeriesPoint, si } from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { lineChart } from '../widgets/chart.ts'
import { evenly, inWindow } from '../widgets/curve.ts'
import { KL_LIMIT, trend } from '../widgets/judge.ts'
import { Lines, Panel, Side } from '../widgets/panel.tsx'
import { type Row, spread } from '../widgets/row.ts'
import { rewardPoints } from './overview-parts.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

interface Chart {
  title: string
  series: string
  text: (value: number) => string
  /** More about it, to the right of the newest number. */
  note?: (view: View) => string
  points?: (view: View) => readonly SeriesPoint[] | undefined
  min?: number
}

const share = (value: number): string => `${(value * 100).toFixed(0)} %`

const CHARTS: readonly Chart[] = [
  { title: 'reward', series: 'reward', text: (v) => v.toFixed(2), points: rewardPoints },
  {
    title: 'held-out accuracy',
    series: 'eval_accuracy',
    text: share,
    points: evaluations,
    note: evaluationNote,
  },
  {
    title: 'mismatch KL',
    series: 'mismatch_kl',
    text: (v) => v.toFixed(3),
    min: 0,
    note: () => `limit ${KL_LIMIT}`,
  },
  {
    title: 'entropy',
    series: 'entropy',
    text: (v) => v.toFixed(2),
    note: (view) => fallen(view.series.get('entropy')),
  },
  { title: 'loss', series: 'loss', text: (v) => v.toFixed(3) },
  {
    title: 'generated tok/s',
    series: 'generate_speed',
    text: (v) => si(v),
    min: 0,
    note: ({ snapshot }) => `train ${si(snapshot?.training?.trainTokensPerSecond)}`,
  },
  { title: 'gradient norm', series: 'gradient_norm', text: (v) => v.toFixed(2), min: 0 },
  { title: 'clipped tokens', series: 'clipped', text: share, min: 0 },
  { title: 'effective sample size', series: 'ess', text: share, min: 0 },
  { title: 'groups with signal', series: 'signal', text: share, min: 0 },
  { title: 'completion tokens', series: 'completion_tokens', text: (v) => v.toFixed(0), min: 0 },
  { title: 'off-policy age p95', series: 'staleness.0.95', text: (v) => v.toFixed(0), min: 0 },
]
const PAGE = 6
const PAGES = Math.ceil(CHARTS.length / PAGE)

export const training: Tab = {
  title: 'Training',
  short: 'Train',
  series: CHARTS.map(({ series }) => series),
  keys: '+/- time  h/l page  Space hold',
  render: (props) => <Training {...props} />,
}

function evaluations({ snapshot }: View): SeriesPoint[] {
  return (snapshot?.evaluations ?? []).map(({ time, step, accuracy }) => [time, step, accuracy])
}

function evaluationNote({ snapshot }: View): string {
  const last = snapshot?.evaluations?.at(-1)
  return last ? `n = ${last.prompts}  step ${last.step}` : ''
}

function fallen(points: readonly SeriesPoint[] | undefined): string {
  const change = trend(points)
  const first = points?.[0]?.[2]
  if (!change || !first) return ''
  const relative = change.change / first
  return Math.abs(relative) < 0.05
    ? 'steady'
    : `${relative > 0 ? '+' : ''}${(relative * 100).toFixed(0)} % in ${duration(change.ms)}`
}

function Training({ view, ui, columns, rows, theme }: TabProps): ReactElement {
  const page = ui.inner % PAGES
  const charts = CHARTS.slice(page * PAGE, (page + 1) * PAGE)
  const across = columns >= 150 ? 3 : 2
  const down = Math.ceil(PAGE / across)
  const height = Math.floor((rows - 1) / down)
  const width = Math.floor(columns / across)
  const lines = Array.from({ length: down }, (_, line) => charts.slice(line * across, (line + 1) * across))
  const window = ui.minutes === 0 ? 'all there is' : `last ${duration(ui.minutes * 60_000)}`
  return (
    <Box flexDirection="column">
      {lines.map((line, i) => (
        <Side key={line[0]?.title ?? i}>
          {line.map((chart, k) => {
            const own = k === across - 1 ? columns - width * (across - 1) : width
            const content = chartRows(chart, view, ui, { width: own - 4, height: height - 2, theme })
            return (
              <Panel
                key={chart.title}
                title={chart.title}
                width={own}
                height={height}
                theme={theme}
                rows={content}
              />
            )
          })}
        </Side>
      ))}
      <Lines width={columns} theme={theme} rows={[` page ${page + 1} of ${PAGES}   ${window}`]} />
    </Box>
  )
}

function chartRows(
  chart: Chart,
  view: View,
  ui: TabUi,
  { width, height, theme }: { width: number; height: number; theme: Theme },
): Row[] {
  const points = inWindow((chart.points ?? ((v: View) => v.series.get(chart.series)))(view) ?? [], ui)
  const last = points.at(-1)
  const all = points.map(([, , value]) => value)
  const extremes =
    all.length > 1 ? `min ${chart.text(Math.min(...all))}  max ${chart.text(Math.max(...all))}` : ''
  const note = chart.note?.(view) || extremes
  const head: Row = spread(['now ', ['bold', last ? chart.text(last[2]) : '-']], note, width)
  const values = evenly(points, Math.max(2, (width - 8) * 2))
  return [
    head,
    ...lineChart(
      { values },
      {
        width,
        height: height - 1,
        label: chart.text,
        ...(chart.min === undefined ? {} : { min: chart.min }),
      },
      theme,
    ),
  ]
}
