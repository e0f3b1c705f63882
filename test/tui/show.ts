// The terminal UI in an emulated terminal, with a scripted node behind it.

import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { GroupView, SeriesPoint, Snapshot } from '../../protocol/api/index.ts'
import { type AppProps, createApp } from '../../tui/app.ts'
import type { Reply } from '../../tui/commands.ts'
import type { Store } from '../../tui/data/store.ts'
import { readInputs } from '../../tui/screen/decode.ts'
import type { Sink } from '../../tui/screen/sink.ts'
import { createTheme } from '../../tui/screen/theme.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { type Emulator, openSink, readyStore, scriptedClient, until } from './screen.ts'

export interface Screen {
  emulator: Emulator
  sink: Sink
  store: Store
  client: ReturnType<typeof scriptedClient>
  press(keys: string): Promise<void>
  resize(columns: number, rows: number): void
  acted: string[]
  /** Otherwise it is drawn again and again until the test ends. */
  close(): void
}

export interface ShowOptions {
  columns: number
  rows: number
  snapshot?: () => Snapshot
  /** Default: those of the scripted node. */
  groups?: GroupView[]
  /** The points of every curve. */
  series?: SeriesPoint[]
  ascii?: boolean
  color?: boolean
  clock?: () => number
  readOnly?: boolean
  reply?: (line: string) => Reply
}

export async function show({
  columns,
  rows,
  snapshot,
  groups,
  series,
  ascii = false,
  color = false,
  clock,
  readOnly = false,
  reply = () => ({ status: 0, lines: ['done'] }),
}: ShowOptions): Promise<Screen> {
  const node = createScriptedNode()
  node.advance(400)
  const client = scriptedClient(snapshot ?? node.snapshot, {
    groups: async () => ({ v: 1, groups: groups ?? node.groups!({}) }),
    ...(series && { series: async ({ name }) => ({ v: 1, name, unit: '', points: series }) }),
  })
  const store = await readyStore(client, clock)
  const { sink, emulator } = openSink(columns, rows)
  const stdin = new PassThrough()
  const acted: string[] = []
  const props: AppProps = {
    store,
    theme: createTheme({ ascii, color, env: { TERM: 'xterm-256color', LANG: 'C.UTF-8' } }),
    size: { columns, rows },
    intervalMs: 250,
    host: undefined,
    onDetach: () => acted.push('detach'),
    onSuspend: () => acted.push('suspend'),
    onRepaint: () => sink.repaint(),
    onMouse: (on) => acted.push(`mouse ${on}`),
    mouse: true,
    readOnly,
    commands: [
      { name: 'peers', summary: 'list peers', changes: ['mute', 'unmute'] },
      { name: 'pause', summary: 'stop training', changes: true },
      { name: 'plugins', summary: 'what is loaded', changes: false },
    ],
    onCommand: async (line) => {
      acted.push(line)
      return reply(line)
    },
    onCopy: (text) => acted.push(`copy ${text}`),
    onExport: (kind, text) => {
      acted.push(`export ${kind} ${text?.split('\n')[0] ?? 'picture'}`)
      return `/here/${kind}`
    },
  }
  const app = createApp(props, sink)
  const stopReading = readInputs(stdin as unknown as NodeJS.ReadStream, app.take)
  const close = (): void => {
    stopReading()
    app.close()
    store.close()
  }
  onTestFinished(close)
  await until(() => store.view().series.size > 0)
  return {
    emulator,
    sink,
    store,
    client,
    acted,
    close,
    async press(keys) {
      stdin.write(keys)
      // A lone Escape is held back for a moment, to see whether it begins a longer key.
      await new Promise((resolve) => setTimeout(resolve, keys === '\u001b' ? 60 : 2))
      // The picture follows in turns of the loop, so a busy machine makes no difference.
      for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
    resize(nextColumns, nextRows) {
      emulator.resize(nextColumns, nextRows)
      sink.resize(nextColumns, nextRows)
      app.resize(sink)
    },
  }
}
