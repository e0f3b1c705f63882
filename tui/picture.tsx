// The whole screen at a size: header, tabs, one tab's body, footer; less of it the smaller the window is. Columns and
// rows are dropped, never wrapped, and the layout depends on the size alone.

import { Box } from 'ink'
import type { ReactElement } from 'react'
import { footer, header, tabBar } from './chrome.ts'
import type { Place } from './data/replay.ts'
import type { View } from './data/store.ts'
import { Help } from './help.tsx'
import type { Theme } from './screen/theme.ts'
import { Compact, OneLine } from './tabs/compact.tsx'
import { TABS } from './tabs/index.ts'
import type { TabProps, TabUi } from './tabs/tab.ts'
import { Lines } from './widgets/panel.tsx'

export interface Size {
  columns: number
  rows: number
}

export interface PictureProps {
  view: View
  ui: TabUi
  theme: Theme
  size: Size
  intervalMs: number
  host: string | undefined
  help: boolean
  tab: number
  frozen: boolean
  /** Where a replay stands. */
  place: Place | undefined
  note: string | undefined
}

export function Picture(props: PictureProps): ReactElement {
  const { view, ui, theme, size, host, help, tab } = props
  const { columns, rows } = size
  const current = TABS[tab]!
  const body: TabProps = { view, ui, theme, columns, rows }
  if (columns < 40 || rows < 10) return <OneLine {...body} />
  const top = header(view, columns, theme, host)
  const bottom = footer(current, { ...props, contact: view.contact, columns })
  const boxed = columns >= 80 && rows >= 24
  if (!boxed && !help) {
    return (
      <Box flexDirection="column" height={rows} width={columns} overflow="hidden">
        <Lines width={columns} theme={theme} rows={[top]} />
        <Box height={rows - 2} flexDirection="column" overflow="hidden">
          <Compact {...body} rows={rows - 2} />
        </Box>
        <Lines width={columns} theme={theme} rows={[bottom]} />
      </Box>
    )
  }
  const inner: TabProps = { ...body, rows: rows - 4 }
  return (
    <Box flexDirection="column" height={rows} width={columns} overflow="hidden">
      <Lines width={columns} theme={theme} rows={[top, tabBar(TABS, tab, columns)]} />
      <Box height={rows - 4} flexDirection="column" overflow="hidden">
        {help ? <Help columns={columns} rows={rows - 4} theme={theme} /> : current.render(inner)}
      </Box>
      <Lines width={columns} theme={theme} rows={[theme.symbols.rule.repeat(columns), bottom]} />
    </Box>
  )
}
