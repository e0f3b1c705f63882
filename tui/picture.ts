// The whole screen at a given size: header, tabs, one tab's body, footer. Smaller windows show less: columns and rows
// are dropped, never wrapped. The layout depends only on the size.

import { footer, header, tabBar } from './chrome.ts'
import type { ReplayPosition } from './data/replay.ts'
import type { View } from './data/store.ts'
import type { Over, Size } from './desk.ts'
import type { Theme } from './screen/theme.ts'
import { TABS } from './tabs/index.ts'
import { oneLine } from './tabs/overview-compact.ts'
import type { TabProps, TabUi } from './tabs/tab.ts'
import { pager } from './widgets/pager.ts'
import { type Block, plainRows } from './widgets/panel.ts'

interface PictureProps {
  view: View
  ui: TabUi
  theme: Theme
  size: Size
  intervalMs: number
  host: string | undefined
  over: Over | undefined
  tab: number
  frozen: boolean
  /** The position of a replay. */
  position: ReplayPosition | undefined
  note: string | undefined
}

export function picture(props: PictureProps): Block {
  const { view, ui, theme, size, host, over, tab } = props
  const { columns, rows } = size
  const current = TABS[tab]!
  const all: TabProps = { view, ui, theme, columns, rows }
  if (columns < 40 || rows < 10) return plainRows([oneLine(all, props.note)], columns, theme)
  const boxed = columns >= 80 && rows >= 24
  const top = [header(view, columns, theme, host)]
  const bottom = [footer(current, tab, { ...props, contact: view.contact, columns, boxed })]
  if (boxed) {
    top.push(tabBar(TABS, tab, columns))
    bottom.unshift(theme.symbols.rule.repeat(columns))
  }
  const height = rows - top.length - bottom.length
  const inner: TabProps = { ...all, rows: height }
  const body = over
    ? pager({ ...over, width: columns, height, theme })
    : boxed
      ? current.render(inner)
      : plainRows(current.compact(inner), columns, theme)
  const shown = Array.from({ length: height }, (_, i) => body[i] ?? '')
  return [...plainRows(top, columns, theme), ...shown, ...plainRows(bottom, columns, theme)]
}
