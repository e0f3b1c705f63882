// What a tab is: a picture of a view at a size. Tabs hold no state of their own; what the reader chose comes in `ui`.

import type { ReactElement } from 'react'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'
import type { Row } from '../widgets/row.ts'

export interface TabUi {
  cursor: number
  open: boolean
  sort: number
  filter: string
  /** Time that charts show, in minutes; 0 is all there is. */
  minutes: number
  /** What is looked for, in the log. */
  search: string
  /** Charts by powers of ten. */
  logarithm: boolean
  /** Charts over steps in place of time. */
  steps: boolean
  /** Long lines of the log whole. */
  wrap: boolean
  /** A second place, within what is open: which sample of a group, which page of charts. */
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
  /** Curves that it draws. */
  series: readonly string[]
  /** Whether it shows groups with their texts. */
  groups?: boolean
  /** The cursor counts from the end, as in a log. */
  upward?: boolean
  /** Keys worth naming in the footer. */
  keys: string
  render(props: TabProps): ReactElement
  /** For windows that are too small for boxes. */
  compact(props: TabProps): Row[]
  /** How many things the cursor can stand on. */
  count?(view: View, ui: TabUi): number
  /** `/` finds, and leaves what it does not find in sight; elsewhere it is a filter. */
  searches?: boolean
  /** The next place of the cursor that has what is searched for, going `by` 1 or -1. */
  find?(view: View, ui: TabUi, by: 1 | -1): number | undefined
  /** What `c` copies: our own text or an ID, never a peer's words. */
  copied?(view: View, ui: TabUi): string | undefined
  /** The peer that the cursor is on. */
  peer?(view: View, ui: TabUi): { id: string; name: string; muted: boolean; address?: string } | undefined
  /** What `e` writes; the picture if left out. */
  exported?(view: View, ui: TabUi): { kind: string; text: string }
}
