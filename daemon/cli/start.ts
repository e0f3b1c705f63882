// The command line's composition root: builds Io from the real process, runs the program, flushes, and exits.

import { randomUUID } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { homedir, hostname, tmpdir } from 'node:os'
import { PACKAGE_ROOT } from '../../protocol/package.ts'
import type { RunNode } from '../control/node/node.ts'
import type { Root } from '../node/start/start.ts'
import { after, checkSupported, obeyProxy, saveCompiled, thisSystem, typedIn } from '../platform/index.ts'
import type { Io } from './contract.ts'
import { keepYoungHeapSmall } from './daemon/young-heap.ts'
import { main } from './run.ts'
import { COMMANDS } from './table.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const REQUESTS = ['SIGHUP', 'SIGUSR2'] as const

/** Called when the reader of the output is gone. If a command sets no handler, the process exits. */
let readerGone: (() => void) | undefined

/** `parts` replaces members of Io; tests pass a scripted node. */
export async function start(parts: Partial<Io> = {}): Promise<void> {
  // `waggle status | head` closes the output early, and a terminal may be closed: neither is an error.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
      if (readerGone) readerGone()
      else process.exit(0)
    })
  }
  const trouble = obeyProxy(process.env)
  if (trouble !== undefined) process.stderr.write(`${trouble}\n`)
  const status = await main(process.argv.slice(2), { ...realIo(), ...parts }, COMMANDS)
  // Exits even if a worker or socket is still open, but flushes the output first.
  await Promise.all([process.stdout, process.stderr].map((s) => new Promise((done) => s.write('', done))))
  process.exit(status)
}

async function starting(area: string, load: () => Promise<{ run: Root }>): Promise<{ runNode: RunNode }> {
  keepYoungHeapSmall()
  const { startBy } = await import('../node/start/start.ts')
  const runNode = startBy(
    { area, pid: process.pid, host: hostname(), run: randomUUID() },
    { load, now: Date.now, monotonic: () => performance.now(), after },
  )
  return { runNode }
}

function realIo(): Io {
  return {
    env: process.env,
    cwd: typedIn({ cwd: process.cwd(), env: process.env, root: PACKAGE_ROOT }),
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
    packageRoot: PACKAGE_ROOT,
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
      // process.exit waits for the engine's thread; if that is in native code, the exit becomes an abort. The default
      // action of the signal does not wait, and gives the shell the same status.
      if (status > 128) {
        for (const signal of SIGNALS) process.removeAllListeners(signal)
        process.kill(process.pid, status - 128)
        return
      }
      process.exit(status)
    },
    atExit: (run) => void process.on('exit', run),
    loadNode() {
      checkSupported(thisSystem())
      return starting('node', async () => {
        const program = await import('../main.ts')
        saveCompiled()
        return program
      })
    },
    loadRelay: () => starting('relay', () => import('../relay.ts')),
  }
}
