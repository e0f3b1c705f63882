// Attaches a screen to a daemon: takes the terminal, draws what the store knows, gives the terminal back. A client of
// the control API only; when it goes, the daemon goes on.

import { render } from 'ink'
import type { ControlClient } from '../protocol/api/index.ts'
import { App, type AppProps } from './app.tsx'
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
  client: ControlClient
  stdin: NodeJS.ReadStream
  stdout: TerminalStream
  clock: () => number
  process: NodeJS.Process
}

/** Resolves with the exit status once the reader has left. */
export async function runTop(
  options: TopOptions,
  { client, stdin, stdout, clock, process }: TopParts,
): Promise<number> {
  const { intervalMs, host } = options
  const size = { columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }
  const sink = createSink(stdout, size)
  const store = createStore({ intervalMs }, { client, clock })
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
    theme: createTheme(options),
    size,
    intervalMs,
    host,
    input: stdin.isTTY === true,
    onDetach: () => finish(0),
    onSuspend: () => terminal.suspend(),
    onRepaint: () => sink.repaint(),
    onPause: async (paused) => (await client.send(paused ? 'pause' : 'resume', {})).message,
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
