// A terminal for tests: what the screen writes goes through a real emulator, in pieces of 4096 bytes as a pty hands
// them over, and comes back as rows of text.

import xterm from '@xterm/headless'
import type { ControlClient, Event, Snapshot } from '../../protocol/api/index.ts'
import { createStore, type Store } from '../../tui/data/store.ts'
import { createSink, type Sink } from '../../tui/screen/sink.ts'

export interface Emulator {
  write(text: string): boolean
  columns: number
  rows: number
  /** All that was written so far. */
  raw(): string
  text(): Promise<string[]>
  resize(columns: number, rows: number): void
  /** Rows that had text before and after a piece of output, and none in between. */
  flashes(): Promise<number>
  terminal: xterm.Terminal
}

export function createEmulator(columns: number, rows: number): Emulator {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 100 })
  let raw = ''
  let flashed = 0
  let working: Promise<void> = Promise.resolve()
  const lines = () =>
    Array.from({ length: terminal.rows }, (_, i) =>
      (
        terminal.buffer.active.getLine(terminal.buffer.active.viewportY + i)?.translateToString(true) ?? ''
      ).trimEnd(),
    )
  const feed = (piece: string) => new Promise<void>((resolve) => terminal.write(piece, resolve))
  return {
    terminal,
    columns,
    rows,
    raw: () => raw,
    write(text) {
      raw += text
      working = working.then(async () => {
        const before = lines()
        const between: string[][] = []
        for (let at = 0; at < text.length; at += 4096) {
          await feed(text.slice(at, at + 4096))
          between.push(lines())
        }
        const after = between.at(-1) ?? before
        flashed += before.filter((row, i) => row && after[i] && between.some((state) => !state[i])).length
      })
      return true
    },
    async text() {
      await working
      return lines()
    },
    async flashes() {
      await working
      return flashed
    },
    resize(nextColumns, nextRows) {
      terminal.resize(nextColumns, nextRows)
      this.columns = nextColumns
      this.rows = nextRows
    },
  }
}

export function openSink(columns: number, rows: number): { sink: Sink; emulator: Emulator } {
  const emulator = createEmulator(columns, rows)
  // Rows fit, which layout.test.ts and tmux.test.ts check; ink would take most of the time of these tests.
  const sink = createSink({ columns, rows }, { target: emulator, layout: { lay: (rows) => rows } })
  emulator.write('\u001b[?1049h\u001b[?7l')
  sink.open = true
  return { sink, emulator }
}

/** A client that answers from a snapshot that the test can change. */
export function scriptedClient(
  snapshot: () => Snapshot,
  more: Partial<ControlClient> = {},
): ControlClient & { push(event: Event): void; hangUp(): void } {
  let deliver: ((event: Event | undefined) => void) | undefined
  const waiting: Array<Event | undefined> = []
  const next = () =>
    new Promise<Event | undefined>((resolve) => {
      if (waiting.length > 0) resolve(waiting.shift())
      else deliver = resolve
    })
  const push = (event: Event | undefined) => {
    if (deliver) deliver(event)
    else waiting.push(event)
    deliver = undefined
  }
  return {
    health: async () => ({
      v: 1,
      state: 'TRAINING',
      name: 'x',
      peerId: 'x',
      pid: 1,
      version: '0',
      run: 'r',
      lastEvent: 0,
    }),
    snapshot: async () => snapshot(),
    series: async ({ name }) => ({
      v: 1,
      name,
      unit: '',
      points: Array.from({ length: 30 }, (_, i) => [i * 1000, i, Math.sin(i / 4) + 2]),
    }),
    groups: async () => ({ v: 1, groups: [] }),
    async *events() {
      yield { v: 1, id: 0, time: 0, type: 'snapshot', snapshot: snapshot() }
      for (let event = await next(); event; event = await next()) yield event
    },
    send: async () => ({ done: true, message: 'done' }) as never,
    push,
    hangUp: () => push(undefined),
    ...more,
  }
}

/** A store that has taken its first snapshot. */
export async function readyStore(client: ControlClient, clock: () => number = () => 0): Promise<Store> {
  const store = createStore({ intervalMs: 250 }, { client, clock })
  await until(() => store.view().snapshot !== undefined)
  return store
}

export async function until(
  condition: () => boolean | Promise<boolean>,
  ms = 15_000,
  everyMs = 10,
): Promise<void> {
  const end = Date.now() + ms
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('what was waited for did not happen')
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
