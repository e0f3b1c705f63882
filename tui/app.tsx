// What the reader does: which tab, where the cursor is, what the keys do. Knows nothing of sockets or terminals; both
// come in as functions. How it looks is in picture.tsx.

import { useInput } from 'ink'
import { type ReactElement, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { Replay } from './data/replay.ts'
import type { Store, View } from './data/store.ts'
import { type Action, actionOf, keyName } from './keys.ts'
import { Picture, type Size } from './picture.tsx'
import type { Theme } from './screen/theme.ts'
import { TABS } from './tabs/index.ts'
import type { TabUi } from './tabs/tab.ts'

export interface AppProps {
  store: Store
  theme: Theme
  size: Size
  intervalMs: number
  /** The store, if it plays a recorded run. */
  replay?: Replay | undefined
  /** Where the daemon is, if not here. */
  host: string | undefined
  input: boolean
  onDetach: () => void
  onSuspend: () => void
  onRepaint: () => void
  /** Pauses or resumes; resolves with what to tell. */
  onPause: (paused: boolean) => Promise<string>
}

const FRESH: TabUi = { cursor: 0, open: false, sort: 0, filter: '', minutes: 0, inner: 0 }
const WINDOWS = [0, 5, 15, 60, 360, 1440]

export function App(props: AppProps): ReactElement {
  const { store, theme, size, intervalMs, host, replay } = props
  const live = useSyncExternalStore(store.subscribe, store.view)
  const [tab, setTab] = useState(0)
  const [uis, setUis] = useState<readonly TabUi[]>(() => TABS.map(() => FRESH))
  const [frozen, setFrozen] = useState<View | undefined>(undefined)
  const [help, setHelp] = useState(false)
  const [note, setNote] = useState<string | undefined>(undefined)
  const [typing, setTyping] = useState(false)
  const asking = useRef<(() => void) | undefined>(undefined)

  const current = TABS[tab]!
  const ui = uis[tab]!
  const view = frozen ?? live
  useEffect(() => store.want(current), [store, current])

  const change = (part: Partial<TabUi>) =>
    setUis(uis.map((old, i) => (i === tab ? { ...old, ...part } : old)))
  const move = (by: number) => {
    const last = Math.max(0, (current.count?.(view, ui) ?? 1) - 1)
    const to = Math.min(last, ui.cursor) + (current.upward ? -by : by)
    change({ cursor: Math.min(last, Math.max(0, to)), inner: 0 })
  }
  const goTo = (next: number) => TABS[next] && setTab(next)
  const askPause = () => {
    const paused = live.snapshot?.state !== 'PAUSED'
    setNote(
      `${paused ? 'Pause' : 'Resume'} training, as \`waggle ${paused ? 'pause' : 'resume'}\` does?  y yes  any other key: no`,
    )
    asking.current = () => {
      setNote('…')
      props.onPause(paused).then(setNote, (error: Error) => setNote(error.message))
    }
  }

  const act: Record<Action, () => void> = {
    tab1: () => goTo(0),
    tab2: () => goTo(1),
    tab3: () => goTo(2),
    tab4: () => goTo(3),
    tab5: () => goTo(4),
    tab6: () => goTo(5),
    nextTab: () => setTab((tab + 1) % TABS.length),
    previousTab: () => setTab((tab + TABS.length - 1) % TABS.length),
    down: () => move(1),
    up: () => move(-1),
    pageDown: () => move(10),
    pageUp: () => move(-10),
    top: () => move(Number.NEGATIVE_INFINITY),
    bottom: () => move(Number.POSITIVE_INFINITY),
    open: () => change({ open: !ui.open, inner: 0 }),
    back: () => (help ? setHelp(false) : ui.open ? change({ open: false }) : change({ filter: '' })),
    left: () => change({ inner: Math.max(0, ui.inner - 1) }),
    right: () => change({ inner: ui.inner + 1 }),
    sort: () => change({ sort: ui.sort + 1 }),
    filter: () => setTyping(true),
    freeze: () => (replay ? replay.toggle() : setFrozen(frozen ? undefined : live)),
    earlier: () => replay?.move(-0.02),
    later: () => replay?.move(0.02),
    slower: () => replay?.faster(0.5),
    faster: () => replay?.faster(2),
    wider: () => change({ minutes: WINDOWS[Math.min(WINDOWS.length - 1, WINDOWS.indexOf(ui.minutes) + 1)]! }),
    narrower: () => change({ minutes: WINDOWS[Math.max(0, WINDOWS.indexOf(ui.minutes) - 1)]! }),
    pause: askPause,
    help: () => setHelp(!help),
    reconnect: store.reconnect,
    repaint: props.onRepaint,
    suspend: props.onSuspend,
    detach: props.onDetach,
  }

  useInput(
    (input, key) => {
      const name = keyName(input, key)
      if (asking.current) {
        const yes = asking.current
        asking.current = undefined
        setNote(undefined)
        if (input === 'y') return yes()
        if (name !== 'ctrl-c') return
      }
      if (typing && name !== 'ctrl-c') {
        if (name === 'return' || name === 'escape') setTyping(false)
        if (name === 'escape') change({ filter: '' })
        else if (key.backspace || key.delete) change({ filter: ui.filter.slice(0, -1), cursor: 0 })
        else if (name === input && input.length === 1)
          change({ filter: (ui.filter + input).slice(0, 40), cursor: 0 })
        return
      }
      setNote(undefined)
      const action = actionOf(name)
      if (action) act[action]()
    },
    { isActive: props.input },
  )

  return (
    <Picture
      view={view}
      ui={ui}
      theme={theme}
      size={size}
      intervalMs={intervalMs}
      host={host}
      help={help}
      tab={tab}
      frozen={frozen !== undefined}
      place={replay?.place()}
      note={typing ? `/${ui.filter}_` : note}
    />
  )
}
