// Training: six curves per page, each with its newest value and, if there is one, its limit.

import { count, decimal, duration, MAX_KL, type SeriesPoint, si, wilson } from '../../protocol/api/index.ts'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import { axisDecimal, axisPercent, lineChart, sparkline } from '../widgets/chart.ts'
import { evenly, inWindow } from '../widgets/curve.ts'
import { trend } from '../widgets/judge.ts'
import { type Block, beside, panel, plainRows } from '../widgets/panel.ts'
import { cell, firstThatFits, type Row, rowWidth, spread } from '../widgets/row.ts'
import { emptyText, rewardPoints } from './overview-parts.ts'
import type { Tab, TabProps, TabUi } from './tab.ts'

interface Chart {
  title: string
  series: string
  text: (value: number) => string
  /** Axis labels, where neighbours must differ; default `text`. */
  axis?: (value: number, span: number) => string
  /** A note to the right of the newest value. */
  note?: (view: View) => string
  points?: (view: View) => readonly SeriesPoint[] | undefined
  min?: number
  /** See ChartOptions. */
  span?: number
  most?: number
  limit?: number
  /** What gives it points; default: a step. */
  of?: 'step' | 'evaluation' | 'answers'
}

const share = (value: number): string => `${(value * 100).toFixed(0)} %`

/** An axis of a share covers at least ten points. */
const SHARE = { span: 0.1, most: 1 }

const CHARTS: readonly Chart[] = [
  {
    title: 'reward',
    series: 'reward',
    text: (v) => v.toFixed(2),
    axis: axisDecimal,
    points: rewardPoints,
    span: 0.1,
  },
  {
    title: 'held-out accuracy',
    series: 'eval_accuracy',
    text: share,
    axis: axisPercent,
    ...SHARE,
    points: evaluations,
    of: 'evaluation',
    note: evaluationNote,
  },
  {
    title: 'mismatch KL',
    series: 'mismatch_kl',
    text: (v) => decimal(v),
    axis: axisDecimal,
    min: 0,
    span: MAX_KL / 5,
    limit: MAX_KL,
    note: () => `limit ${MAX_KL}`,
  },
  {
    title: 'entropy',
    series: 'entropy',
    text: (v) => v.toFixed(2),
    axis: axisDecimal,
    span: 0.1,
    note: (view) => changed(view.series.get('entropy')),
  },
  { title: 'loss', series: 'loss', text: (v) => decimal(v), axis: axisDecimal },
  {
    title: 'generated tok/s',
    series: 'generate_speed',
    text: (v) => si(v),
    min: 0,
    of: 'answers',
    note: ({ snapshot }) => `train ${si(snapshot?.training?.trainTokensPerSecond)}`,
  },
  { title: 'gradient norm', series: 'gradient_norm', text: (v) => decimal(v, 2), axis: axisDecimal, min: 0 },
  { title: 'clipped tokens', series: 'clipped', text: share, axis: axisPercent, ...SHARE, min: 0 },
  { title: 'effective sample size', series: 'ess', text: share, axis: axisPercent, ...SHARE, min: 0 },
  {
    title: 'groups with signal',
    series: 'signal',
    text: share,
    axis: axisPercent,
    ...SHARE,
    of: 'answers',
    min: 0,
  },
  {
    title: 'completion tokens',
    series: 'completion_tokens',
    text: (v) => v.toFixed(0),
    axis: axisDecimal,
    of: 'answers',
    min: 0,
  },
  {
    title: 'staleness p95',
    series: 'staleness.0.95',
    text: (v) => v.toFixed(0),
    axis: axisDecimal,
    min: 0,
  },
]
const PAGE = 6
const PAGES = Math.ceil(CHARTS.length / PAGE)

export const training: Tab = {
  title: 'Training',
  short: 'Train',
  series: CHARTS.map(({ series }) => series),
  keys: '+/- time  h/l page  L log  x steps  e CSV',
  render: renderTraining,
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

/** Every point of every visible curve: series, time, step, value. */
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

/** Tells a curve that has not arrived yet from one without points, and what that one waits for. */
function whyEmpty({ points, series, of = 'step' }: Chart, view: View, width: number): string {
  const arrived = view.snapshot !== undefined && (points !== undefined || view.series.has(series))
  return arrived || view.snapshot?.state === 'STARTING' ? emptyText(view, of, width) : 'loading'
}

/** Exponential moving average; the newest point has weight 0.1. */
const averageOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((mean, value) => mean + 0.1 * (value - mean))

/** One of the charts by its title, in a box. */
export function chartPanel(title: string, { view, ui, columns, rows, theme }: TabProps): Block {
  const chart = CHARTS.find((known) => known.title === title)!
  const content = chartRows(chart, view, ui, { width: columns - 4, height: rows - 2, theme })
  return panel({ title, width: columns, height: rows, theme, rows: content })
}

function evaluations({ snapshot }: View): SeriesPoint[] {
  return (snapshot?.evaluations ?? []).map(({ time, step, accuracy }) => [time, step, accuracy])
}

function evaluationNote({ snapshot }: View): string {
  const last = snapshot?.evaluations?.at(-1)
  if (!last) return ''
  const { low, high } = wilson(last.accuracy, last.prompts)
  return `95 %: ${(100 * low).toFixed(0)} to ${share(high)}  n = ${count(last.prompts)}`
}

function changed(points: readonly SeriesPoint[] | undefined): string {
  const change = trend(points)
  const first = points?.[0]?.[2]
  if (!change || !first) return ''
  const relative = change.change / first
  return Math.abs(relative) < 0.05
    ? ''
    : `${relative > 0 ? '+' : ''}${(relative * 100).toFixed(0)} % in ${duration(change.ms)}`
}

function renderTraining(props: TabProps): Block {
  const { ui, columns, rows, theme } = props
  const page = ui.inner % PAGES
  const charts = CHARTS.slice(page * PAGE, (page + 1) * PAGE)
  const across = columns >= 150 ? 3 : 2
  const down = Math.ceil(PAGE / across)
  const height = Math.floor((rows - 1) / down)
  const width = Math.floor(columns / across)
  const lines = Array.from({ length: down }, (_, line) => charts.slice(line * across, (line + 1) * across))
  const window = ui.minutes === 0 ? 'all data' : `last ${duration(ui.minutes * 60_000)}`
  return [
    ...lines.flatMap((line) => {
      const [first, ...others] = line.map((chart, k) => {
        const own = k === across - 1 ? columns - width * (across - 1) : width
        return chartPanel(chart.title, { ...props, columns: own, rows: height })
      })
      return beside(first!, ...others)
    }),
    ...plainRows(
      [
        ` page ${page + 1} of ${PAGES}   ${window}, over ${ui.steps ? 'steps' : 'time'}${ui.logarithm ? ', logarithmic' : ''}`,
      ],
      columns,
      theme,
    ),
  ]
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
  const now: Row = ['now ', ['bold', last ? chart.text(last[2]) : '-']]
  const withMean: Row = average === undefined ? now : [...now, `  mean ${chart.text(average)}`]
  const head = spread(firstThatFits(width - rowWidth(note) - 2, [withMean, now]), note, width)
  const along = ui.steps ? points.map(([, step, value]): SeriesPoint => [step, step, value]) : points
  const values = evenly(along, Math.max(2, (width - 8) * 2))
  return [
    head,
    ...lineChart(
      { values },
      {
        width,
        height: height - 1,
        label: chart.axis ?? chart.text,
        empty: whyEmpty(chart, view, width),
        logarithm: ui.logarithm,
        ...(chart.min === undefined ? {} : { min: chart.min }),
        ...(chart.span === undefined ? {} : { span: chart.span }),
        ...(chart.most === undefined ? {} : { most: chart.most }),
        ...(chart.limit === undefined ? {} : { limit: chart.limit }),
      },
      theme,
    ),
  ]
}
