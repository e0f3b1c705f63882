// Training: six curves a page, each with its newest number and, where there is one, the limit that matters.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import { duration, KL_LIMIT, type SeriesPoint, si } from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { lineChart, sparkline } from '../widgets/chart.ts'
import { evenly, inWindow } from '../widgets/curve.ts'
import { trend } from '../widgets/judge.ts'
import { Lines, Panel, Side } from '../widgets/panel.tsx'
import { cell, type Row, spread } from '../widgets/row.ts'
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
  limit?: number
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
    limit: KL_LIMIT,
    note: () => `limit ${KL_LIMIT}`,
  },
  {
    title: 'entropy',
    series: 'entropy',
    text: (v) => v.toFixed(2),
    note: (view) => changed(view.series.get('entropy')),
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
  keys: '+/- time  h/l page  L log  x steps  e CSV',
  render: (props) => <Training {...props} />,
  compact: ({ view, ui, columns, theme }) =>
    CHARTS.map((chart) => {
      const points = inWindow(pointsOf(chart, view), ui)
      const last = points.at(-1)
      const width = Math.max(0, columns - 34)
      return `${cell(chart.title, 22)} ${cell(last ? chart.text(last[2]) : '-', 8, 'right')}  ${sparkline(
        points.map(([, , v]) => v),
        width,
        theme,
      )}`
    }),
  exported: (view, ui) => ({ kind: 'csv', text: csvOf(view, ui) }),
}

/** Every point of every curve that is shown: series, time, step, value. */
function csvOf(view: View, ui: TabUi): string {
  const rows = CHARTS.flatMap((chart) =>
    inWindow(pointsOf(chart, view), ui).map(([time, step, value]) =>
      [chart.series, new Date(time).toISOString(), step, value].join(','),
    ),
  )
  return `series,time,step,value\n${rows.join('\n')}\n`
}

const pointsOf = (chart: Chart, view: View): readonly SeriesPoint[] =>
  (chart.points ?? ((v: View) => v.series.get(chart.series)))(view) ?? []

/** Exponential moving average, the newest point weighing a tenth. */
const averageOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((mean, value) => mean + 0.1 * (value - mean))

export interface ChartPanelProps extends TabProps {
  title: string
}

/** One of the charts by its title, in a box. */
export function ChartPanel({ title, view, ui, columns, rows, theme }: ChartPanelProps): ReactElement {
  const chart = CHARTS.find((known) => known.title === title)!
  const content = chartRows(chart, view, ui, { width: columns - 4, height: rows - 2, theme })
  return <Panel title={title} width={columns} height={rows} theme={theme} rows={content} />
}

function evaluations({ snapshot }: View): SeriesPoint[] {
  return (snapshot?.evaluations ?? []).map(({ time, step, accuracy }) => [time, step, accuracy])
}

function evaluationNote({ snapshot }: View): string {
  const last = snapshot?.evaluations?.at(-1)
  return last ? `n = ${last.prompts}  step ${last.step}` : ''
}

function changed(points: readonly SeriesPoint[] | undefined): string {
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
            return (
              <ChartPanel
                key={chart.title}
                title={chart.title}
                view={view}
                ui={ui}
                columns={own}
                rows={height}
                theme={theme}
              />
            )
          })}
        </Side>
      ))}
      <Lines
        width={columns}
        theme={theme}
        rows={[
          ` page ${page + 1} of ${PAGES}   ${window}, over ${ui.steps ? 'steps' : 'time'}${ui.logarithm ? ', by powers of ten' : ''}`,
        ]}
      />
    </Box>
  )
}

function chartRows(
  chart: Chart,
  view: View,
  ui: TabUi,
  { width, height, theme }: { width: number; height: number; theme: Theme },
): Row[] {
  const points = inWindow(pointsOf(chart, view), ui)
  const last = points.at(-1)
  const all = points.map(([, , value]) => value)
  const average = averageOf(all)
  const extremes =
    all.length > 1 ? `min ${chart.text(Math.min(...all))}  max ${chart.text(Math.max(...all))}` : ''
  const note = chart.note?.(view) || extremes
  const head: Row = spread(
    [
      'now ',
      ['bold', last ? chart.text(last[2]) : '-'],
      average === undefined || width < 40 ? '' : `  mean ${chart.text(average)}`,
    ],
    note,
    width,
  )
  const along = ui.steps ? points.map(([, step, value]): SeriesPoint => [step, step, value]) : points
  const values = evenly(along, Math.max(2, (width - 8) * 2))
  return [
    head,
    ...lineChart(
      { values },
      {
        width,
        height: height - 1,
        label: chart.text,
        logarithm: ui.logarithm,
        ...(chart.min === undefined ? {} : { min: chart.min }),
        ...(chart.limit === undefined ? {} : { limit: chart.limit }),
      },
      theme,
    ),
  ]
}
