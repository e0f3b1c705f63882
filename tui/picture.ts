// The whole screen at a given size: header, tabs, one tab's body, footer. Smaller windows show less: columns and rows
// are dropped, never wrapped. The layout depends only on the size.

import { footer, header, tabBar } from './chrome.ts'
import type { ReplayPosition } from './data/replay.ts'
import type { View } from './data/store.ts'
import type { Over, Size } from './desk-state.ts'
import type { Theme } from './screen/theme.ts'
import { TABS } from './tabs/index.ts'
import { oneLine } from './tabs/overview-compact.ts'
import type { TabProps, TabUi } from './tabs/tab.ts'
import { pager } from './widgets/pager.ts'
import { type Block, plainRows } from './widgets/panel.ts'
import type { Row } from './widgets/row.ts'
import { wrapText } from './widgets/wrap.ts'

const MAX_CANDIDATE_ROWS = 4

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
  note: Row | undefined
  /** Words that could be typed next. */
  candidates: readonly string[]
}

export function picture(props: PictureProps): Block {
  const { view, ui, theme, size, host, over, tab } = props
  const { columns, rows } = size
  const current = TABS[tab]!
  const whole: TabProps = { view, ui, theme, columns, rows }
  if (columns < 40 || rows < 10) return plainRows([oneLine(whole, props.note)], columns, theme)
  const boxed = columns >= 80 && rows >= 24
  const top = [header(view, columns, theme, host)]
  const bottom = [footer(current, tab, { ...props, contact: view.contact, columns, boxed })]
  if (boxed) {
    top.push(tabBar(TABS, tab, columns))
    bottom.unshift(theme.symbols.rule.repeat(columns))
  }
  const height = rows - top.length - bottom.length
  const inner: TabProps = { ...whole, rows: height }
  const body = over
    ? pager({ ...over, width: columns, height, theme })
    : boxed
      ? current.render(inner)
      : plainRows(current.compact(inner), columns, theme)
  const shown = Array.from({ length: height }, (_, i) => body[i] ?? '')
  const all = [...plainRows(top, columns, theme), ...shown, ...plainRows(bottom, columns, theme)]
  const words = wrapText(props.candidates.join('  '), columns - 2).slice(0, MAX_CANDIDATE_ROWS)
  // Above the line that is typed.
  if (props.candidates.length > 0)
    all.splice(
      -1 - words.length,
      words.length,
      ...plainRows(
        words.map((row) => ` ${row}`),
        columns,
        theme,
      ),
    )
  return all
}
