// The first tab: the seven questions of an operator, answered at a glance.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import { Lines, Panel, Side } from '../widgets/panel.tsx'
import {
  attentionRows,
  learningRows,
  machineRows,
  stabilityRows,
  stepRows,
  swarmRows,
} from './overview-parts.ts'
import type { Tab, TabProps } from './tab.ts'

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
  ],
  keys: 'p pause  Space hold',
  render: (props) => (props.columns >= 100 && props.rows >= 26 ? wide(props) : medium(props)),
}

function wide({ view, columns, rows, theme }: TabProps): ReactElement {
  const left = Math.floor(columns * 0.65)
  const right = columns - left
  const half = Math.floor(columns / 2)
  const low = 7
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
        <Panel title="Swarm" width={half} height={low} theme={theme} rows={swarmRows(view, half - 4)} />
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
  // Of 20 rows: 6 learning, 6 + 6 below, 2 for what needs attention; what is over goes to the chart.
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
        <Panel title="Swarm" width={half} height={6} theme={theme} rows={swarmRows(view, half - 4)} />
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
