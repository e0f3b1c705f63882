// A tab draws a view at a given size. Tabs hold no state of their own; the user's choices are in `ui`.

import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import type { Block } from '../widgets/panel.ts'
import type { Row } from '../widgets/row.ts'
import type { Column, Hit, Order } from '../widgets/table.ts'

export interface TabUi {
  cursor: number
  /** What the cursor stays on while other items come and go; at the start of a list it stays there instead. */
  item?: unknown
  open: boolean
  /** Which of the kinds or levels is listed. */
  sort: number
  /** Order of the table; the tab's own if undefined. */
  order: Order | undefined
  filter: string
  /** Time span of charts, in minutes; 0 for all data. */
  minutes: number
  /** Search text, in the log. */
  search: string
  /** Logarithmic charts. */
  logarithm: boolean
  /** Charts over steps instead of time. */
  steps: boolean
  /** Wrap long log lines. */
  wrap: boolean
  /** A second position, within the open item: the sample of a group, the page of charts. */
  inner: number
}

export interface TabProps {
  view: View
  ui: TabUi
  columns: number
  rows: number
  theme: Theme
}

export interface Tab {
  title: string
  short: string
  /** Names of the curves that it draws. */
  series: readonly string[]
  /** Whether it shows groups with texts. */
  groups?: boolean
  /** The cursor counts from the end, as in a log. */
  upward?: boolean
  /** Keys shown in the footer. */
  keys: string
  /** A block of the whole size. */
  render(props: TabProps): Block
  /** Drawn in windows too small for boxes. */
  compact(props: TabProps): Row[]
  /** Columns of its table, which their keys sort by. */
  columns?: ReadonlyArray<Pick<Column<never>, 'title' | 'key'>>
  /** `s` goes through kinds or levels instead of columns. */
  kinds?: true
  /** The order of the table, if nobody has chosen one. */
  order?: Order
  /** What is at a cell of its block, for the mouse. */
  hit?(props: TabProps, column: number, row: number): Hit | undefined
  /** What the cursor can be on, in its order: IDs, or objects that do not change. */
  items?(view: View, ui: TabUi): readonly unknown[]
  /** Whether `/` searches without hiding anything; otherwise it filters. */
  searches?: boolean
  /** The next cursor position that matches the search, going `by` 1 or -1. */
  find?(view: View, ui: TabUi, by: 1 | -1): number | undefined
  /** What `c` copies: our own text or an ID, never a peer's words. */
  copied?(view: View, ui: TabUi): string | undefined
  /** The peer that the cursor is on. */
  peer?(view: View, ui: TabUi): { id: string; name: string; muted: boolean; address?: string } | undefined
  /** What `e` exports; the picture if left out. */
  exported?(view: View, ui: TabUi): { kind: string; text: string }
}
