// The user's interaction: the current tab, the cursor, and what keys do. Knows nothing about sockets or terminals;
// both are passed in as functions. The layout is in picture.tsx.

import { useInput } from 'ink'
import { type ReactElement, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { changesNode, OWN_COMMANDS, type Reply, type TopCommand } from './commands.ts'
import { narrow } from './data/inert.ts'
import type { Replay } from './data/replay.ts'
import type { Store, View } from './data/store.ts'
import { helpRows } from './help.ts'
import { type Action, actionOf, type Stroke, strokesOf } from './keys.ts'
import { Picture, type Size } from './picture.tsx'
import type { Theme } from './screen/theme.ts'
import { TABS } from './tabs/index.ts'
import type { TabUi } from './tabs/tab.ts'
import { type Line, type LineKind, openLine, PROMPT, typeKey } from './typing.ts'
import { lastPlace } from './widgets/pager.tsx'
import type { Row } from './widgets/row.ts'
import { wrapText } from './widgets/wrap.ts'

export interface AppProps {
  store: Store
  theme: Theme
  size: Size
  intervalMs: number
  /** The store, if it replays a recorded run. */
  replay?: Replay | undefined
  /** The daemon's host, if it is remote. */
  host: string | undefined
  input: boolean
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

/** What covers the body: help, or a command's output. */
export interface Over {
  title: string
  rows: readonly Row[]
  at: number
}

export function App(props: AppProps): ReactElement {
  const { store, theme, size, intervalMs, host, replay, commands, readOnly } = props
  const live = useSyncExternalStore(store.subscribe, store.view)
  const [tab, setTab] = useState(0)
  const [uis, setUis] = useState<readonly TabUi[]>(() => TABS.map(() => FRESH))
  const [frozen, setFrozen] = useState<View | undefined>(undefined)
  const [over, setOver] = useState<Over | undefined>(undefined)
  const [note, setNote] = useState<string | undefined>(undefined)
  const [line, setLine] = useState<Line | undefined>(undefined)
  const asking = useRef<(() => void) | undefined>(undefined)
  const history = useRef<string[]>([])

  const current = TABS[tab]!
  const ui = uis[tab]!
  const view = frozen ?? live
  const bodyHeight = size.rows - (size.columns >= 80 && size.rows >= 24 ? 4 : 2)
  useEffect(() => store.want(current), [store, current])

  const change = (part: Partial<TabUi>) =>
    setUis(uis.map((old, i) => (i === tab ? { ...old, ...part } : old)))
  const move = (by: number) => {
    if (over) {
      const last = lastPlace(over.rows.length, bodyHeight)
      return setOver({ ...over, at: Math.min(last, Math.max(0, over.at + by)) })
    }
    const last = Math.max(0, (current.count?.(view, ui) ?? 1) - 1)
    const to = Math.min(last, ui.cursor) + (current.upward ? -by : by)
    change({ cursor: Math.min(last, Math.max(0, to)), inner: 0 })
  }
  const goTo = (next: number) => {
    setOver(undefined)
    if (TABS[next]) setTab(next)
  }
  const find = (by: 1 | -1, search = ui.search) => {
    const at = current.find?.(view, { ...ui, search }, by)
    if (at !== undefined) change({ cursor: at, search })
    else if (search) {
      change({ search })
      setNote(`"${search}" not found`)
    }
  }
  const help = () =>
    setOver({ title: 'Keys', rows: helpRows(current, replay ? [] : commands, size.columns - 4), at: 0 })

  const run = (command: string) => {
    setNote(`:${command} …`)
    const ended = ({ status, lines }: Reply) => {
      const rows = lines.map((text) => narrow(text))
      setNote(status === 0 ? undefined : `:${command} ended with status ${status}`)
      // A single line fits at the bottom; longer output covers the body.
      if (rows.length <= 1 && status === 0) setNote(rows[0] ?? 'done')
      else
        setOver({ title: `:${command}`, rows: rows.flatMap((row) => wrapText(row, size.columns - 4)), at: 0 })
    }
    props.onCommand(command).then(ended, (error: Error) => setNote(narrow(error.message)))
  }
  const ask = (question: string, command: string) => {
    if (replay) return setNote('this is a recording: there is no node to change')
    if (readOnly) return setNote('this screen is read-only (--read-only)')
    const choice = 'y yes  any other key: no'
    const whole = `${question}  \`waggle ${command}\`?  ${choice}`
    const fits = whole.length + 2 <= size.columns
    setNote(fits ? whole : choice)
    // Too long for the bottom row, so show it in the body.
    if (!fits) setOver({ title: question, rows: wrapText(`waggle ${command}`, size.columns - 4), at: 0 })
    asking.current = () => run(command)
  }
  const command = (text: string) => {
    const [name = '', argument = ''] = text.split(/\s+/)
    if (name === '') return
    history.current = [...history.current.filter((old) => old !== text), text].slice(-HISTORY)
    if (name === 'quit' || name === 'q') return props.onDetach()
    if (name === 'keys') return help()
    if (name === 'tab') {
      const wanted = argument.toLowerCase()
      const at = TABS.findIndex(
        ({ title }, i) =>
          wanted === String(i + 1) || (wanted !== '' && title.toLowerCase().startsWith(wanted)),
      )
      return at < 0 ? setNote(`there is no tab "${argument}"`) : goTo(at)
    }
    if (replay) return setNote('this is a recording: there is no node to ask')
    if (changesNode(text, commands)) return ask('Run:', text)
    run(text)
  }
  const openFor = (kind: LineKind) =>
    setLine(
      openLine(
        kind,
        kind === 'command' ? '' : ui[kind === 'search' && current.searches ? 'search' : 'filter'],
      ),
    )
  const finish = ({ kind, text }: Line) => {
    if (kind === 'command') command(text.trim())
    else if (kind === 'search' && current.searches) find(1, text)
  }
  const peer = current.peer?.(view, ui)

  const act: Record<Action, () => void> = {
    tab1: () => goTo(0),
    tab2: () => goTo(1),
    tab3: () => goTo(2),
    tab4: () => goTo(3),
    tab5: () => goTo(4),
    tab6: () => goTo(5),
    nextTab: () => goTo((tab + 1) % TABS.length),
    previousTab: () => goTo((tab + TABS.length - 1) % TABS.length),
    down: () => move(1),
    up: () => move(-1),
    pageDown: () => move(10),
    pageUp: () => move(-10),
    top: () => move(Number.NEGATIVE_INFINITY),
    bottom: () => move(Number.POSITIVE_INFINITY),
    open: () => (over ? setOver(undefined) : change({ open: !ui.open, inner: 0 })),
    back: () =>
      over ? setOver(undefined) : ui.open ? change({ open: false }) : change({ filter: '', search: '' }),
    left: () => change({ inner: Math.max(0, ui.inner - 1) }),
    right: () => change({ inner: ui.inner + 1 }),
    sort: () => change({ sort: ui.sort + 1 }),
    search: () => openFor('search'),
    filter: () => openFor('filter'),
    next: () => (current.searches ? find(1) : move(1)),
    previous: () => (current.searches ? find(-1) : move(-1)),
    command: () => openFor('command'),
    copy: () => {
      const text = current.copied?.(view, ui) ?? view.snapshot?.node.peerId
      if (text === undefined) return
      props.onCopy(text)
      setNote(`copied ${text}`)
    },
    export: () => {
      const { kind, text } = current.exported?.(view, ui) ?? { kind: 'txt', text: undefined }
      try {
        setNote(`wrote ${props.onExport(`${current.title.toLowerCase()}.${kind}`, text)}`)
      } catch (error) {
        setNote((error as Error).message)
      }
    },
    mute: () =>
      peer
        ? ask(
            `${peer.muted ? 'Unmute' : 'Mute'} ${peer.name}:`,
            `peers ${peer.muted ? 'unmute' : 'mute'} ${peer.id}`,
          )
        : undefined,
    dial: () => (peer ? ask(`Connect to ${peer.name}:`, `join ${peer.address ?? peer.id}`) : undefined),
    wrap: () => change({ wrap: !ui.wrap }),
    follow: () => (current.upward ? change({ cursor: 0, open: false }) : undefined),
    logarithm: () => change({ logarithm: !ui.logarithm }),
    axis: () => change({ steps: !ui.steps }),
    freeze: () => (replay ? replay.toggle() : setFrozen(frozen ? undefined : live)),
    earlier: () => replay?.move(-0.02),
    later: () => replay?.move(0.02),
    slower: () => replay?.faster(0.5),
    faster: () => replay?.faster(2),
    wider: () => change({ minutes: WINDOWS[Math.min(WINDOWS.length - 1, WINDOWS.indexOf(ui.minutes) + 1)]! }),
    narrower: () => change({ minutes: WINDOWS[Math.max(0, WINDOWS.indexOf(ui.minutes) - 1)]! }),
    pause: () => {
      const paused = live.snapshot?.state !== 'PAUSED'
      ask(paused ? 'Pause training:' : 'Resume training:', paused ? 'pause' : 'resume')
    },
    help: () => (over?.title === 'Keys' ? setOver(undefined) : help()),
    reconnect: store.reconnect,
    repaint: props.onRepaint,
    suspend: props.onSuspend,
    detach: () => (over ? setOver(undefined) : props.onDetach()),
  }

  const press = ({ name, text, erases }: Stroke) => {
    if (name === 'ctrl-c') return props.onDetach()
    if (asking.current) {
      const yes = asking.current
      asking.current = undefined
      setNote(undefined)
      setOver(undefined)
      if (name === 'y') yes()
      return
    }
    if (line) {
      const parts = { history: history.current, commands: [...OWN_COMMANDS, ...commands] }
      const typed = typeKey(line, { name, text, erases }, parts)
      const filters = line.kind === 'filter' || (line.kind === 'search' && !current.searches)
      if (typed.state === 'given up') {
        setLine(undefined)
        if (filters) change({ filter: '' })
        return
      }
      // A filter takes effect while it is typed.
      if (filters) change({ filter: typed.line.text.slice(0, 60), cursor: 0 })
      setLine(typed.state === 'done' ? undefined : typed.line)
      if (typed.state === 'done') finish(typed.line)
      return
    }
    setNote(undefined)
    const action = actionOf(name)
    if (action) act[action]()
  }

  // Handle each key only after the previous one has been drawn, since its meaning may depend on that.
  const waiting = useRef<Stroke[]>([])
  const [, setTaken] = useState(0)
  useEffect(() => {
    const next = waiting.current.shift()
    if (!next) return
    press(next)
    setTaken((taken) => taken + 1)
  })
  useInput(
    (input, key) => {
      waiting.current.push(...strokesOf(input, key))
      setTaken((taken) => taken + 1)
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
      over={over}
      tab={tab}
      frozen={frozen !== undefined}
      place={replay?.place()}
      note={line ? `${PROMPT[line.kind]}${narrow(line.text)}_` : note}
    />
  )
}
