// What keys do: the current tab, the cursor, the line being typed, what covers the body. It draws nothing and knows no
// terminal. Keys take effect at once, one after another, however long a picture takes.

import { actionsOf } from './actions.ts'
import { tabAt } from './chrome.ts'
import { createCommanding } from './commanding.ts'
import { OWN_COMMANDS } from './commands.ts'
import type { View } from './data/store.ts'
import type { DeskProps, DeskState } from './desk-state.ts'
import { helpRows } from './help.ts'
import { actionOf } from './keys.ts'
import type { Key, Mouse } from './screen/decode.ts'
import { TABS } from './tabs/index.ts'
import type { Tab, TabUi } from './tabs/tab.ts'
import { type Line, type LineKind, openLine, textOf, typeKey } from './typing.ts'
import { lastRow } from './widgets/pager.ts'
import { type Order, orderBy } from './widgets/table.ts'

const FRESH: TabUi = {
  cursor: 0,
  open: false,
  sort: 0,
  order: undefined,
  filter: '',
  search: '',
  minutes: 0,
  inner: 0,
  logarithm: false,
  steps: false,
  wrap: false,
}
const WHEEL_ROWS = 3
/** Below the header and the tabs. */
const BODY_ROW = 2
const MAX_FILTER = 200

export interface Desk {
  readonly state: DeskState
  press(key: Key): void
  paste(text: string): void
  point(mouse: Mouse): void
  /** The store has news: the cursor stays on its item. */
  news(): void
  /** The current state has been drawn: only now can a question be answered. */
  drawn(): void
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: what each key does, in a few lines each, over one state.
export function createDesk(props: () => DeskProps, { draw }: { draw(): void }): Desk {
  const { store, replay, commands } = props()
  let state: DeskState = {
    tab: 0,
    uis: TABS.map(() => FRESH),
    frozen: undefined,
    over: undefined,
    note: undefined,
    line: undefined,
    mouse: props().mouse,
  }
  const set = (part: Partial<DeskState>): void => {
    state = { ...state, ...part }
    draw()
  }
  const here = (): { current: Tab; ui: TabUi; view: View } => ({
    current: TABS[state.tab]!,
    ui: state.uis[state.tab]!,
    view: state.frozen ?? store.view(),
  })
  const isBoxed = (): boolean => props().size.columns >= 80 && props().size.rows >= 24
  const bodyHeight = (): number => props().size.rows - (isBoxed() ? 4 : 2)
  const change = (part: Partial<TabUi>) => {
    const item = 'cursor' in part ? undefined : here().ui.item
    const next = settled(here().current, here().view, { ...here().ui, item, ...part })
    set({ uis: state.uis.map((old, i) => (i === state.tab ? next : old)) })
  }
  const move = (by: number) => {
    if (state.over) {
      const last = lastRow(state.over.rows.length, bodyHeight())
      return set({ over: { ...state.over, at: Math.min(last, Math.max(0, state.over.at + by)) } })
    }
    const last = Math.max(0, (here().current.items?.(here().view, here().ui).length ?? 1) - 1)
    const to = Math.min(last, here().ui.cursor) + (here().current.upward ? -by : by)
    change({ cursor: Math.min(last, Math.max(0, to)), inner: 0 })
  }
  const pageRows = (): number => Math.max(1, bodyHeight() - 3)
  const goTo = (next: number) => {
    set({ over: undefined })
    if (TABS[next]) set({ tab: next })
    change({})
  }
  const order = (): Order | undefined => here().ui.order ?? here().current.order
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

  const commanding = createCommanding({ props, set, goTo, help })
  const openFor = (kind: LineKind) =>
    set({
      line: openLine(
        kind,
        kind === 'command'
          ? ''
          : here().ui[kind === 'search' && here().current.searches ? 'search' : 'filter'],
      ),
    })
  const finish = (line: Line) => {
    const [kind, text] = [line.kind, textOf(line)]
    if (kind === 'command') commanding.command(text.trim())
    else if (kind === 'search' && here().current.searches) find(1, text)
  }
  const act = actionsOf({
    props,
    state: () => state,
    ...{ set, here, change, order, pageRows, move, goTo, find, openFor, help },
    ask: commanding.ask,
  })

  const press = ({ name, text }: Key) => {
    if (name === 'ctrl-c') return props().onDetach()
    if (commanding.isAsking) return commanding.answer(name)
    if (state.line) {
      const parts = { history: commanding.history, commands: [...OWN_COMMANDS, ...commands] }
      const typed = typeKey(state.line, { name, text }, parts)
      const filters =
        state.line.kind === 'filter' || (state.line.kind === 'search' && !here().current.searches)
      if (typed.state === 'given up') {
        set({ line: undefined })
        if (filters) change({ filter: '' })
        return
      }
      // A filter takes effect while it is typed.
      if (filters) change({ filter: textOf(typed.line).slice(0, MAX_FILTER), cursor: 0 })
      set({ line: typed.state === 'done' ? undefined : typed.line })
      if (typed.state === 'done') finish(typed.line)
      return
    }
    set({ note: undefined })
    const column = here().current.columns?.find(({ key }) => key === name)
    if (column && !state.over) return change({ order: orderBy(order(), column.title), cursor: 0 })
    const action = actionOf(name)
    if (action) act[action](name)
  }

  return {
    get state() {
      return state
    },
    press,
    paste(text) {
      // A question is not answered by it, and it is no key.
      if (commanding.isAsking) return
      if (!state.line) return set({ note: 'pasted text is not taken as keys; type : first for a command' })
      const plain = text.split(/[\r\n]/)[0]!.replaceAll(/\p{Cc}/gu, '')
      press({ name: '', text: plain })
    },
    point({ did, column, row }) {
      if (commanding.isAsking || state.line) return
      if (did !== 'press') return move(did === 'wheelUp' ? -WHEEL_ROWS : WHEEL_ROWS)
      if (!isBoxed()) return
      const { columns } = props().size
      const tab = row === 1 ? tabAt(TABS, columns, column) : undefined
      if (tab !== undefined) return goTo(tab)
      if (state.over) return
      const { current, ui, view } = here()
      const body = { view, ui, columns, rows: bodyHeight(), theme: props().theme }
      const hit = current.hit?.(body, column, row - BODY_ROW)
      if (!hit) return
      if ('column' in hit) return change({ order: orderBy(order(), hit.column), cursor: 0 })
      // Pressed again, it opens; a line of the log at once, since it moves to the end.
      const again = hit.item === ui.cursor
      change({ cursor: hit.item, inner: 0, open: again ? !ui.open : current.upward === true || ui.open })
    },
    news: () => change({}),
    drawn: commanding.shown,
  }
}

/** With the cursor where its item is now. */
function settled(tab: Tab, view: View, ui: TabUi): TabUi {
  const items = tab.items?.(view, ui)
  if (!items) return ui
  const at = ui.item === undefined ? -1 : items.indexOf(ui.item)
  const cursor = at >= 0 ? at : Math.min(ui.cursor, Math.max(0, items.length - 1))
  const stays = cursor > 0 || ui.inner > 0 || ui.open
  return { ...ui, cursor, item: stays ? items[cursor] : undefined }
}
