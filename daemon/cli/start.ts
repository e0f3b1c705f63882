// The command line's composition root: builds Io from the real process, runs, flushes, and exits.

import { closeSync, existsSync, openSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Io } from './context.ts'
import { main } from './run.ts'
import { keepYoungHeapSmall } from './young-heap.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const REQUESTS = ['SIGHUP', 'SIGUSR2'] as const

/** What a node does when its output is not read any more; anything else just ends. */
let readerGone: (() => void) | undefined

/** `parts` replaces pieces of the world; tests put a scripted node there. */
export async function start(parts: Partial<Io> = {}): Promise<void> {
  // `waggle status | head` closes our output early, and a terminal may go: that is no error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
      if (readerGone) readerGone()
      else process.exit(0)
    })
  }
  const status = await main(process.argv.slice(2), { ...realIo(), ...parts })
  // A worker or a socket that lingers must not keep a finished command alive, but what was written has to get out.
  await Promise.all([process.stdout, process.stderr].map((s) => new Promise((done) => s.write('', done))))
  process.exit(status)
}

function realIo(): Io {
  const root = packageRoot()
  return {
    env: process.env,
    cwd: process.cwd(),
    homedir: homedir(),
    tmpdir: tmpdir(),
    uid: process.getuid?.() ?? 0,
    platform: process.platform,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    clock: Date.now,
    program: import.meta.url.endsWith('.ts') ? 'npm run -s waggle --' : 'waggle',
    self: [process.argv[1]!],
    argv: process.argv.slice(2),
    packageRoot: root,
    onSignal(handler) {
      for (const signal of SIGNALS) process.on(signal, handler)
      return () => {
        for (const signal of SIGNALS) process.off(signal, handler)
      }
    },
    onRequest(handler) {
      for (const signal of REQUESTS) process.on(signal, handler)
      return () => {
        for (const signal of REQUESTS) process.off(signal, handler)
      }
    },
    terminalGone() {
      if (!process.stdout.isTTY && !process.stdin.isTTY) return false
      try {
        closeSync(openSync('/dev/tty', 'r'))
        return false
      } catch {
        return true
      }
    },
    onReaderGone(handler) {
      readerGone = handler
    },
    exit(status) {
      // An orderly exit waits for the engine's thread, which may be inside native code and turn it into an abort. The
      // signal's own default action asks nobody, and gives the shell the same status.
      if (status > 128) {
        for (const signal of SIGNALS) process.removeAllListeners(signal)
        process.kill(process.pid, status - 128)
        return
      }
      process.exit(status)
    },
    atExit: (run) => void process.on('exit', run),
    loadNode() {
      keepYoungHeapSmall()
      return import('../main.ts')
    },
    loadRelay() {
      keepYoungHeapSmall()
      return import('../relay.ts')
    },
  }
}

/** The nearest folder upwards with a package.json: sources and built files lie at different depths. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}
