// Attaches a screen to a daemon: takes the terminal, draws what the store knows, gives the terminal back. A client of
// the control API only; when it goes, the daemon goes on.

import { render } from 'ink'
import type { ControlClient } from '../protocol/api/index.ts'
import { App, type AppProps } from './app.tsx'
import { createReplay } from './data/replay.ts'
import { createStore } from './data/store.ts'
import { createSink } from './screen/sink.ts'
import { createTerminal, type TerminalStream } from './screen/terminal.ts'
import { createTheme } from './screen/theme.ts'

export interface TopOptions {
  intervalMs: number
  ascii: boolean
  color: boolean
  env: Record<string, string | undefined>
  host?: string
}

export interface TopParts {
  /** A daemon, or the lines of a recorded run. */
  source: ControlClient | { lines: Iterable<string> }
  stdin: NodeJS.ReadStream
  stdout: TerminalStream
  clock: () => number
  process: NodeJS.Process
}

/** Resolves with the exit status once the reader has left. */
export async function runTop(
  options: TopOptions,
  { source, stdin, stdout, clock, process }: TopParts,
): Promise<number> {
  const { intervalMs, host } = options
  const size = { columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }
  const sink = createSink(stdout, size)
  const client = 'lines' in source ? undefined : source
  const replay = 'lines' in source ? createReplay(source.lines, { clock }) : undefined
  const store = replay ?? createStore({ intervalMs }, { client: source as ControlClient, clock })
  let finish: (status: number) => void = () => {}
  const finished = new Promise<number>((resolve) => {
    finish = resolve
  })
  const terminal = createTerminal({
    stdout,
    stdin,
    sink,
    process,
    onEnd: (signal) => finish(signal === 'SIGTERM' ? 143 : signal === 'SIGINT' ? 130 : 129),
  })
  const props: AppProps = {
    store,
    replay,
    theme: createTheme(options),
    size,
    intervalMs,
    host,
    input: stdin.isTTY === true,
    onDetach: () => finish(0),
    onSuspend: () => terminal.suspend(),
    onRepaint: () => sink.repaint(),
    onPause: async (paused) =>
      client ? (await client.send(paused ? 'pause' : 'resume', {})).message : 'this is a recording',
  }
  const app = render(<App {...props} />, {
    // In debug mode ink hands over whole frames and leaves the cursor to the sink.
    debug: true,
    interactive: true,
    stdout: sink as unknown as NodeJS.WriteStream,
    stdin,
    exitOnCtrlC: false,
    patchConsole: false,
    isScreenReaderEnabled: false,
  })
  sink.on('resize', () => app.rerender(<App {...props} size={{ columns: sink.columns, rows: sink.rows }} />))
  terminal.enter()
  try {
    return await finished
  } finally {
    store.close()
    terminal.close()
    app.unmount()
  }
}
