// The first tab: the seven questions of an operator, answered at a glance.

import { type Block, beside, panel, plainRows } from '../widgets/panel.ts'
import type { Row } from '../widgets/row.ts'
import { attentionRows } from './attention.ts'
import { compactOverview } from './overview-compact.ts'
import { learningRows, machineRows, stabilityRows, stepRows, swarmRows } from './overview-parts.ts'
import type { Tab, TabProps } from './tab.ts'
import { chartPanel } from './training.ts'

export const overview: Tab = {
  title: 'Overview',
  short: 'Over',
  series: [
    'reward',
    'generate_speed',
    'train_speed',
    'mismatch_kl',
    'entropy',
    'gradient_norm',
    'clipped',
    'ess',
    'eval_accuracy',
    'signal',
  ],
  keys: 'p pause  Space freeze',
  render: (props) =>
    props.columns >= 160 && props.rows >= 36
      ? huge(props)
      : props.columns >= 100 && props.rows >= 26
        ? wide(props)
        : medium(props),
  compact: compactOverview,
}

/** Charts of the second column, from the top. */
const BESIDE = ['held-out accuracy', 'entropy', 'mismatch KL', 'groups with signal']

/** 160 x 40 and larger: the same, with a column of charts beside it. */
function huge(props: TabProps): Block {
  const { columns, rows } = props
  const left = Math.floor(columns * 0.64)
  const height = Math.floor(rows / BESIDE.length)
  const charts = BESIDE.flatMap((title, i) =>
    chartPanel(title, {
      ...props,
      columns: columns - left,
      rows: i === BESIDE.length - 1 ? rows - height * (BESIDE.length - 1) : height,
    }),
  )
  return beside(wide({ ...props, columns: left }), charts)
}

function wide({ view, columns, rows, theme }: TabProps): Block {
  const left = Math.floor(columns * 0.65)
  const right = columns - left
  const half = Math.floor(columns / 2)
  const other = columns - half
  const low = rows >= 34 ? 9 : 7
  const high = rows - 2 * low
  const box = (title: string, width: number, height: number, content: readonly Row[]): Block =>
    panel({ title, width, height, theme, rows: content })
  return [
    ...beside(
      box('Learning', left, high, learningRows(view, left - 4, high - 2, theme)),
      box('Machine', right, high, machineRows(view, right - 4, theme)),
    ),
    ...beside(
      box('Last step', half, low, stepRows(view, half - 4, theme)),
      box('Stability', other, low, stabilityRows(view, other - 4, theme)),
    ),
    ...beside(
      box('Swarm', half, low, swarmRows(view, half - 4, low - 2, theme)),
      box('Needs attention', other, low, attentionRows(view, theme, { width: other - 4, height: low - 2 })),
    ),
  ]
}

/** 80 x 24: sparklines for charts, two columns below. */
function medium({ view, columns, rows, theme }: TabProps): Block {
  const half = Math.floor(columns / 2)
  const other = columns - half
  // Of 20 rows: 6 learning, 6 + 6 below, 2 for what needs attention. Additional rows go to the chart.
  const high = rows - 14
  const box = (title: string, width: number, content: readonly Row[]): Block =>
    panel({ title, width, height: 6, theme, rows: content })
  return [
    ...panel({
      title: 'Learning',
      width: columns,
      height: high,
      theme,
      rows: learningRows(view, columns - 4, high - 2, theme),
    }),
    ...beside(
      box('Last step', half, stepRows(view, half - 4, theme)),
      box('Stability', other, stabilityRows(view, other - 4, theme)),
    ),
    ...beside(
      box('Swarm', half, swarmRows(view, half - 4, 4, theme)),
      box('Machine', other, machineRows(view, other - 4, theme)),
    ),
    ...plainRows(attentionRows(view, theme, { width: columns, height: 2 }).slice(0, 2), columns, theme),
  ]
}
