// The first tab: the seven questions of an operator, answered at a glance.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import { Lines, Panel, Side } from '../widgets/panel.tsx'
import { attentionRows } from './attention.ts'
import { compactOverview } from './overview-compact.ts'
import { learningRows, machineRows, stabilityRows, stepRows, swarmRows } from './overview-parts.ts'
import type { Tab, TabProps } from './tab.ts'
import { ChartPanel } from './training.tsx'

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
  keys: 'p pause  Space hold',
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
function huge(props: TabProps): ReactElement {
  const { view, ui, columns, rows, theme } = props
  const left = Math.floor(columns * 0.64)
  const height = Math.floor(rows / BESIDE.length)
  return (
    <Side>
      {wide({ ...props, columns: left })}
      <Box flexDirection="column">
        {BESIDE.map((title, i) => (
          <ChartPanel
            key={title}
            title={title}
            view={view}
            ui={ui}
            columns={columns - left}
            rows={i === BESIDE.length - 1 ? rows - height * (BESIDE.length - 1) : height}
            theme={theme}
          />
        ))}
      </Box>
    </Side>
  )
}

function wide({ view, columns, rows, theme }: TabProps): ReactElement {
  const left = Math.floor(columns * 0.65)
  const right = columns - left
  const half = Math.floor(columns / 2)
  const low = rows >= 34 ? 9 : 7
  const high = rows - 2 * low
  return (
    <Box flexDirection="column">
      <Side>
        <Panel
          title="Learning"
          width={left}
          height={high}
          theme={theme}
          rows={learningRows(view, left - 4, high - 2, theme)}
        />
        <Panel
          title="Machine"
          width={right}
          height={high}
          theme={theme}
          rows={machineRows(view, right - 4, theme)}
        />
      </Side>
      <Side>
        <Panel
          title="Last step"
          width={half}
          height={low}
          theme={theme}
          rows={stepRows(view, half - 4, theme)}
        />
        <Panel
          title="Stability"
          width={columns - half}
          height={low}
          theme={theme}
          rows={stabilityRows(view, columns - half - 4, theme)}
        />
      </Side>
      <Side>
        <Panel
          title="Swarm"
          width={half}
          height={low}
          theme={theme}
          rows={swarmRows(view, half - 4, low - 2, theme)}
        />
        <Panel
          title="Needs attention"
          width={columns - half}
          height={low}
          theme={theme}
          rows={attentionRows(view, theme, low - 2)}
        />
      </Side>
    </Box>
  )
}

/** 80 x 24: sparklines for charts, two columns below. */
function medium({ view, columns, rows, theme }: TabProps): ReactElement {
  const half = Math.floor(columns / 2)
  const other = columns - half
  // Of 20 rows: 6 learning, 6 + 6 below, 2 for what needs attention. Additional rows go to the chart.
  const high = rows - 14
  return (
    <Box flexDirection="column">
      <Panel
        title="Learning"
        width={columns}
        height={high}
        theme={theme}
        rows={learningRows(view, columns - 4, high - 2, theme)}
      />
      <Side>
        <Panel
          title="Last step"
          width={half}
          height={6}
          theme={theme}
          rows={stepRows(view, half - 4, theme)}
        />
        <Panel
          title="Stability"
          width={other}
          height={6}
          theme={theme}
          rows={stabilityRows(view, other - 4, theme)}
        />
      </Side>
      <Side>
        <Panel
          title="Swarm"
          width={half}
          height={6}
          theme={theme}
          rows={swarmRows(view, half - 4, 4, theme)}
        />
        <Panel
          title="Machine"
          width={other}
          height={6}
          theme={theme}
          rows={machineRows(view, other - 4, theme)}
        />
      </Side>
      <Lines width={columns} theme={theme} rows={attentionRows(view, theme, 2).slice(0, 2)} />
    </Box>
  )
}
