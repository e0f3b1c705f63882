// What keys do: the current tab, the cursor, the line being typed, what covers the body. It draws nothing and knows no
// terminal. Keys take effect at once, one after another, however long a picture takes.

import { changesNode, OWN_COMMANDS, type Reply, type TopCommand } from './commands.ts'
import { narrow } from './data/inert.ts'
import type { Replay } from './data/replay.ts'
import type { Store, View } from './data/store.ts'
import { helpRows } from './help.ts'
import { type Action, actionOf } from './keys.ts'
import type { Key } from './screen/decode.ts'
import type { Theme } from './screen/theme.ts'
import { TABS } from './tabs/index.ts'
import type { Tab, TabUi } from './tabs/tab.ts'
import { type Line, type LineKind, openLine, typeKey } from './typing.ts'
import { lastRow } from './widgets/pager.ts'
import type { Row } from './widgets/row.ts'
import { wrapText } from './widgets/wrap.ts'

export interface DeskProps {
  store: Store
  theme: Theme
  size: Size
  /** The store, if it replays a recorded run. */
  replay?: Replay | undefined
  /** Disables everything that changes the node. */
  readOnly: boolean
  commands: readonly TopCommand[]
  onDetach: () => void
  onSuspend: () => void
  onRepaint: () => void
  /** Runs a waggle command. */
  onCommand: (line: string) => Promise<Reply>
  /** Copies text to the terminal's clipboard. */
  onCopy: (text: string) => void
  /** Writes `text`, or the picture, to a file in the working directory, and returns its path. */
  onExport: (kind: string, text: string | undefined) => string
}

const FRESH: TabUi = {
  cursor: 0,
  open: false,
  sort: 0,
  filter: '',
  search: '',
  minutes: 0,
  inner: 0,
  logarithm: false,
  steps: false,
  wrap: false,
}
const WINDOWS = [0, 5, 15, 60, 360, 1440]
const HISTORY = 50

/** What the screen shows, besides the node. */
interface DeskState {
  tab: number
  uis: readonly TabUi[]
  frozen: View | undefined
  over: Over | undefined
  note: string | undefined
  line: Line | undefined
}

export interface Desk {
  readonly state: DeskState
  press(key: Key): void
  paste(text: string): void
  /** The current state has been drawn: only now can a question be answered. */
  drawn(): void
}

/** What covers the body: help, or a command's output. */
export interface Over {
  title: string
  rows: readonly Row[]
  at: number
}

export function createDesk(props: () => DeskProps, { draw }: { draw(): void }): Desk {
  const { store, replay, commands, readOnly } = props()
  let state: DeskState = {
    tab: 0,
    uis: TABS.map(() => FRESH),
    frozen: undefined,
    over: undefined,
    note: undefined,
    line: undefined,
  }
  let asking: { yes(): void; isShown: boolean } | undefined
  let history: string[] = []
  const set = (part: Partial<DeskState>): void => {
    state = { ...state, ...part }
    draw()
  }
  const here = (): { current: Tab; ui: TabUi; view: View } => ({
    current: TABS[state.tab]!,
    ui: state.uis[state.tab]!,
    view: state.frozen ?? store.view(),
  })
  const bodyHeight = (): number => {
    const { columns, rows } = props().size
    return rows - (columns >= 80 && rows >= 24 ? 4 : 2)
  }
  const change = (part: Partial<TabUi>) =>
    set({ uis: state.uis.map((old, i) => (i === state.tab ? { ...old, ...part } : old)) })
  const move = (by: number) => {
    if (state.over) {
      const last = lastRow(state.over.rows.length, bodyHeight())
      return set({ over: { ...state.over, at: Math.min(last, Math.max(0, state.over.at + by)) } })
    }
    const last = Math.max(0, (here().current.count?.(here().view, here().ui) ?? 1) - 1)
    const to = Math.min(last, here().ui.cursor) + (here().current.upward ? -by : by)
    change({ cursor: Math.min(last, Math.max(0, to)), inner: 0 })
  }
  const goTo = (next: number) => {
    set({ over: undefined })
    if (TABS[next]) set({ tab: next })
  }
  const find = (by: 1 | -1, search = here().ui.search) => {
    const at = here().current.find?.(here().view, { ...here().ui, search }, by)
    if (at !== undefined) change({ cursor: at, search })
    else if (search) {
      change({ search })
      set({ note: `"${search}" not found` })
    }
  }
  const help = () =>
    set({
      over: {
        title: 'Keys',
        rows: helpRows(here().current, replay ? [] : commands, props().size.columns - 4),
        at: 0,
      },
    })

  const run = (command: string) => {
    set({ note: `:${command} …` })
    const ended = ({ status, lines }: Reply) => {
      const rows = lines.map((text) => narrow(text))
      set({ note: status === 0 ? undefined : `:${command} ended with status ${status}` })
      // A single line fits at the bottom; longer output covers the body.
      if (rows.length <= 1 && status === 0) set({ note: rows[0] ?? 'done' })
      else
        set({
          over: {
            title: `:${command}`,
            rows: rows.flatMap((row) => wrapText(row, props().size.columns - 4)),
            at: 0,
          },
        })
    }
    props()
      .onCommand(command)
      .then(ended, (error: Error) => set({ note: narrow(error.message) }))
  }
  const ask = (question: string, command: string) => {
    if (replay) return set({ note: 'this is a recording: there is no node to change' })
    if (readOnly) return set({ note: 'this screen is read-only (--read-only)' })
    const choice = 'y yes  any other key: no'
    const whole = `${question}  \`waggle ${command}\`?  ${choice}`
    const fits = whole.length + 2 <= props().size.columns
    set({ note: fits ? whole : choice })
    // Too long for the bottom row, so show it in the body.
    if (!fits)
      set({ over: { title: question, rows: wrapText(`waggle ${command}`, props().size.columns - 4), at: 0 } })
    asking = { yes: () => run(command), isShown: false }
  }
  const command = (text: string) => {
    const [name = '', argument = ''] = text.split(/\s+/)
    if (name === '') return
    history = [...history.filter((old) => old !== text), text].slice(-HISTORY)
    if (name === 'quit' || name === 'q') return props().onDetach()
    if (name === 'keys') return help()
    if (name === 'tab') {
      const wanted = argument.toLowerCase()
      const at = TABS.findIndex(
        ({ title }, i) =>
          wanted === String(i + 1) || (wanted !== '' && title.toLowerCase().startsWith(wanted)),
      )
      return at < 0 ? set({ note: `there is no tab "${argument}"` }) : goTo(at)
    }
    if (replay) return set({ note: 'this is a recording: there is no node to ask' })
    if (changesNode(text, commands)) return ask('Run:', text)
    run(text)
  }
  const openFor = (kind: LineKind) =>
    set({
      line: openLine(
        kind,
        kind === 'command'
          ? ''
          : here().ui[kind === 'search' && here().current.searches ? 'search' : 'filter'],
      ),
    })
  const finish = ({ kind, text }: Line) => {
    if (kind === 'command') command(text.trim())
    else if (kind === 'search' && here().current.searches) find(1, text)
  }
  const peer = () => here().current.peer?.(here().view, here().ui)

  const act: Record<Action, () => void> = {
    tab1: () => goTo(0),
    tab2: () => goTo(1),
    tab3: () => goTo(2),
    tab4: () => goTo(3),
    tab5: () => goTo(4),
    tab6: () => goTo(5),
    nextTab: () => goTo((state.tab + 1) % TABS.length),
    previousTab: () => goTo((state.tab + TABS.length - 1) % TABS.length),
    down: () => move(1),
    up: () => move(-1),
    pageDown: () => move(10),
    pageUp: () => move(-10),
    top: () => move(Number.NEGATIVE_INFINITY),
    bottom: () => move(Number.POSITIVE_INFINITY),
    open: () => (state.over ? set({ over: undefined }) : change({ open: !here().ui.open, inner: 0 })),
    back: () =>
      state.over
        ? set({ over: undefined })
        : here().ui.open
          ? change({ open: false })
          : change({ filter: '', search: '' }),
    left: () => change({ inner: Math.max(0, here().ui.inner - 1) }),
    right: () => change({ inner: here().ui.inner + 1 }),
    sort: () => change({ sort: here().ui.sort + 1 }),
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
    freeze: () => (replay ? replay.toggle() : set({ frozen: state.frozen ? undefined : store.view() })),
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
    help: () => (state.over?.title === 'Keys' ? set({ over: undefined }) : help()),
    reconnect: store.reconnect,
    repaint: () => props().onRepaint(),
    suspend: () => props().onSuspend(),
    detach: () => (state.over ? set({ over: undefined }) : props().onDetach()),
  }

  const press = ({ name, text }: Key) => {
    if (name === 'ctrl-c') return props().onDetach()
    if (asking) {
      const { yes, isShown } = asking
      // Typed or pasted before anybody could read the question.
      if (!isShown) return
      asking = undefined
      set({ note: undefined, over: undefined })
      if (name === 'y') yes()
      return
    }
    if (state.line) {
      const parts = { history, commands: [...OWN_COMMANDS, ...commands] }
      const typed = typeKey(state.line, { name, text }, parts)
      const filters =
        state.line.kind === 'filter' || (state.line.kind === 'search' && !here().current.searches)
      if (typed.state === 'given up') {
        set({ line: undefined })
        if (filters) change({ filter: '' })
        return
      }
      // A filter takes effect while it is typed.
      if (filters) change({ filter: typed.line.text.slice(0, 60), cursor: 0 })
      set({ line: typed.state === 'done' ? undefined : typed.line })
      if (typed.state === 'done') finish(typed.line)
      return
    }
    set({ note: undefined })
    const action = actionOf(name)
    if (action) act[action]()
  }

  return {
    get state() {
      return state
    },
    press,
    paste(text) {
      // A question is not answered by it, and it is no key.
      if (asking) return
      if (!state.line) return set({ note: 'pasted text is not taken as keys; type : first for a command' })
      const plain = text.split(/[\r\n]/)[0]!.replaceAll(/\p{Cc}/gu, '')
      press({ name: '', text: plain })
    },
    drawn() {
      if (asking) asking.isShown = true
    },
  }
}

export interface Size {
  columns: number
  rows: number
}
