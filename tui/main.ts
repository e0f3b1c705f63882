// Attaches a screen to a daemon: takes the terminal, draws the store's view, restores the terminal. A client
// of the control API only; when it exits, the daemon keeps running.

import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ControlClient } from '../protocol/api/index.ts'
import { createApp } from './app.ts'
import type { Reply, TopCommand } from './commands.ts'
import { createReplay } from './data/replay.ts'
import { createStore } from './data/store.ts'
import { copySequence } from './screen/clipboard.ts'
import { readInputs } from './screen/decode.ts'
import { createLayout } from './screen/layout.ts'
import { createSink } from './screen/sink.ts'
import { keepHeapSmall } from './screen/small-heap.ts'
import { createTerminal, type TerminalStream } from './screen/terminal.ts'
import { createTheme, type ThemeName } from './screen/theme.ts'

interface TopOptions {
  intervalMs: number
  ascii: boolean
  color: boolean
  theme: ThemeName
  mouse: boolean
  env: Record<string, string | undefined>
  host?: string
  readOnly: boolean
  commands: readonly TopCommand[]
  /** Folder for exported files. */
  folder: string
}

interface TopParts {
  /** A daemon, or the lines of a recorded run. */
  source: ControlClient | { lines: Iterable<string> }
  /** Runs a waggle command and returns its output. */
  onCommand: (line: string) => Promise<Reply>
  stdin: NodeJS.ReadStream
  stdout: TerminalStream
  clock: () => number
  process: NodeJS.Process
}

/** Resolves with the exit status when the user leaves. */
export async function runTop(
  options: TopOptions,
  { source, onCommand, stdin, stdout, clock, process }: TopParts,
): Promise<number> {
  const { intervalMs, host } = options
  keepHeapSmall()
  const size = { columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }
  const layout = createLayout()
  const sink = createSink(size, { target: stdout, layout })
  const replay = 'lines' in source ? createReplay(source.lines, { clock }) : undefined
  const store = replay ?? createStore({ intervalMs }, { client: source as ControlClient, clock })
  let finish: (status: number) => void = () => {}
  const finished = new Promise<number>((resolve) => {
    finish = resolve
  })
  const terminal = createTerminal({
    stdout,
    stdin,
    mouse: options.mouse,
    sink,
    process,
    onSize: () => app.resize(sink),
    onEnd: (signal) => finish(signal === 'SIGTERM' ? 143 : signal === 'SIGINT' ? 130 : 129),
  })
  const app = createApp(
    {
      store,
      replay,
      theme: createTheme(options),
      size,
      intervalMs,
      host,
      onDetach: () => finish(0),
      onSuspend: () => terminal.suspend(),
      onRepaint: () => sink.repaint(),
      onMouse: terminal.mouse,
      mouse: options.mouse,
      readOnly: options.readOnly,
      commands: options.commands,
      onCommand,
      onCopy: (text) => void stdout.write(copySequence(text)),
      onExport(kind, text) {
        const time = new Date(clock()).toISOString().slice(0, 19).replace(/[:T]/g, '-')
        const path = resolve(options.folder, `waggle-${time}-${kind}`)
        writeFileSync(path, text ?? `${sink.picture().join('\n')}\n`, { flag: 'wx' })
        return path
      },
    },
    sink,
  )
  const stopReading = readInputs(stdin, app.take)
  terminal.enter()
  try {
    return await finished
  } finally {
    stopReading()
    app.close()
    store.close()
    terminal.close()
    layout.close()
  }
}
