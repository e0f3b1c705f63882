// What a tab is: a picture of a view at a size. Tabs hold no state of their own; what the reader chose comes in `ui`.

import type { ReactElement } from 'react'
import type { View } from '../data/store.ts'
import type { Theme } from '../screen/theme.ts'

export interface TabUi {
  cursor: number
  open: boolean
  sort: number
  filter: string
  /** Time that charts show, in minutes; 0 is all there is. */
  minutes: number
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
  /** How many things the cursor can stand on. */
  count?(view: View, ui: TabUi): number
}
