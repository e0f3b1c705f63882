// What each key does (keys.ts), in terms of what the desk offers.

import type { View } from './data/store.ts'
import type { DeskProps, DeskState } from './desk-state.ts'
import type { Action } from './keys.ts'
import { TABS } from './tabs/index.ts'
import type { Tab, TabUi } from './tabs/tab.ts'
import type { LineKind } from './typing.ts'
import { nextOrder, type Order } from './widgets/table.ts'

export interface Acting {
  props(): DeskProps
  state(): DeskState
  set(part: Partial<DeskState>): void
  /** What is on the current tab. */
  here(): { current: Tab; ui: TabUi; view: View }
  change(part: Partial<TabUi>): void
  order(): Order | undefined
  /** Rows of a page. */
  pageRows(): number
  move(by: number): void
  goTo(tab: number): void
  find(by: 1 | -1): void
  openFor(kind: LineKind): void
  /** Asks before a command runs. */
  ask(question: string, command: string): void
  help(): void
}

const WINDOWS = [0, 5, 15, 60, 360, 1440]

export function actionsOf(desk: Acting): Record<Action, (name: string) => void> {
  const { props, state, set, here, change, order, pageRows, move, goTo, find, openFor, ask, help } = desk
  const { store, replay } = props()
  const peer = () => here().current.peer?.(here().view, here().ui)

  return {
    tab: (name) => goTo(Number(name) - 1),
    nextTab: () => goTo((state().tab + 1) % TABS.length),
    previousTab: () => goTo((state().tab + TABS.length - 1) % TABS.length),
    down: () => move(1),
    up: () => move(-1),
    pageDown: () => move(pageRows()),
    pageUp: () => move(-pageRows()),
    halfDown: () => move(Math.ceil(pageRows() / 2)),
    halfUp: () => move(-Math.ceil(pageRows() / 2)),
    top: () => move(Number.NEGATIVE_INFINITY),
    bottom: () => move(Number.POSITIVE_INFINITY),
    open: () => (state().over ? set({ over: undefined }) : change({ open: !here().ui.open, inner: 0 })),
    back: () =>
      state().over
        ? set({ over: undefined })
        : here().ui.open
          ? change({ open: false })
          : change({ filter: '', search: '' }),
    left: () => change({ inner: Math.max(0, here().ui.inner - 1) }),
    right: () => change({ inner: here().ui.inner + 1 }),
    sort: () => {
      const { current, ui } = here()
      const next = current.columns && !current.kinds
      change(
        next ? { order: nextOrder(order(), current.columns!), cursor: 0 } : { sort: ui.sort + 1, cursor: 0 },
      )
    },
    reverse: () => {
      const now = order()
      if (now) change({ order: { ...now, back: !now.back } })
    },
    mouse: () => {
      set({ mouse: !state().mouse, note: state().mouse ? 'mouse off: it selects text' : 'mouse on' })
      props().onMouse(state().mouse)
    },
    search: () => openFor('search'),
    filter: () => openFor('filter'),
    next: () => (here().current.searches ? find(1) : move(1)),
    previous: () => (here().current.searches ? find(-1) : move(-1)),
    command: () => openFor('command'),
    copy: () => {
      const text = here().current.copied?.(here().view, here().ui) ?? here().view.snapshot?.node.peerId
      if (text === undefined) return
      props().onCopy(text)
      set({ note: `copied ${text}` })
    },
    export: () => {
      const { kind, text } = here().current.exported?.(here().view, here().ui) ?? {
        kind: 'txt',
        text: undefined,
      }
      try {
        set({ note: `wrote ${props().onExport(`${here().current.title.toLowerCase()}.${kind}`, text)}` })
      } catch (error) {
        set({ note: (error as Error).message })
      }
    },
    mute: () => {
      const { id, name, muted } = peer() ?? {}
      if (id) ask(`${muted ? 'Unmute' : 'Mute'} ${name}:`, `peers ${muted ? 'unmute' : 'mute'} ${id}`)
    },
    dial: () => {
      const { id, name, address } = peer() ?? {}
      if (id) ask(`Connect to ${name}:`, `join ${address ?? id}`)
    },
    wrap: () => change({ wrap: !here().ui.wrap }),
    follow: () => (here().current.upward ? change({ cursor: 0, open: false }) : undefined),
    logarithm: () => change({ logarithm: !here().ui.logarithm }),
    axis: () => change({ steps: !here().ui.steps }),
    freeze: () => (replay ? replay.toggle() : set({ frozen: state().frozen ? undefined : store.view() })),
    earlier: () => replay?.move(-0.02),
    later: () => replay?.move(0.02),
    slower: () => replay?.faster(0.5),
    faster: () => replay?.faster(2),
    wider: () =>
      change({ minutes: WINDOWS[Math.min(WINDOWS.length - 1, WINDOWS.indexOf(here().ui.minutes) + 1)]! }),
    narrower: () => change({ minutes: WINDOWS[Math.max(0, WINDOWS.indexOf(here().ui.minutes) - 1)]! }),
    pause: () => {
      const paused = store.view().snapshot?.state !== 'PAUSED'
      ask(paused ? 'Pause training:' : 'Resume training:', paused ? 'pause' : 'resume')
    },
    help: () => (state().over?.title === 'Keys' ? set({ over: undefined }) : help()),
    reconnect: store.reconnect,
    repaint: () => props().onRepaint(),
    suspend: () => props().onSuspend(),
    detach: () => (state().over ? set({ over: undefined }) : props().onDetach()),
  }
}
