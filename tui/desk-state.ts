// What the desk is given, and what it holds.

import type { Reply, TopCommand } from './commands.ts'
import type { Replay } from './data/replay.ts'
import type { Store, View } from './data/store.ts'
import type { Theme } from './screen/theme.ts'
import type { TabUi } from './tabs/tab.ts'
import type { Line } from './typing.ts'
import type { Row } from './widgets/row.ts'

export interface DeskProps {
  store: Store
  theme: Theme
  size: Size
  /** The store, if it replays a recorded run. */
  replay?: Replay | undefined
  /** Whether the mouse acts on the screen at first; otherwise it selects text. */
  mouse: boolean
  /** Disables everything that changes the node. */
  readOnly: boolean
  commands: readonly TopCommand[]
  onDetach: () => void
  onSuspend: () => void
  onRepaint: () => void
  onMouse: (on: boolean) => void
  /** Runs a waggle command. */
  onCommand: (line: string) => Promise<Reply>
  /** Copies text to the terminal's clipboard. */
  onCopy: (text: string) => void
  /** Writes `text`, or the picture, to a file in the working directory, and returns its path. */
  onExport: (kind: string, text: string | undefined) => string
}

/** What the screen shows, besides the node. */
export interface DeskState {
  tab: number
  uis: readonly TabUi[]
  frozen: View | undefined
  over: Over | undefined
  note: string | undefined
  line: Line | undefined
  mouse: boolean
}

/** What covers the body: help, or a command's output. */
export interface Over {
  title: string
  rows: readonly Row[]
  at: number
}

export interface Size {
  columns: number
  rows: number
}
