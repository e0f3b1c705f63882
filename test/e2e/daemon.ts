// Real daemons for end-to-end tests: child processes started as a user starts them, seen through the control socket
// and their output only.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createClient } from '../../daemon/control/api/client.ts'
import type { ControlClient, Snapshot } from '../../protocol/api/index.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
const PROGRAM = join(ROOT, 'daemon/cli/waggle.ts')

/** Little work a step, so that two daemons on two cores get somewhere in seconds; no evaluations in between. */
const QUICK = [
  'rollout.group_size=4',
  'rollout.groups_per_round=4',
  'training.batch_groups=2',
  'training.max_peer_groups=2',
  'checkpoint.every_steps=2',
  'eval.every_seconds=0',
  'engine.threads=1',
]

export interface Finished {
  status: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

export interface Daemon {
  home: string
  pid: number
  client: ControlClient
  stdout(): string
  stderr(): string
  /** Asks for snapshots until one satisfies; rejects, with the daemon's output, if it ends or takes too long. */
  until(what: string, satisfied: (snapshot: Snapshot) => unknown, timeoutMs?: number): Promise<Snapshot>
  /** As Ctrl-C does. */
  stop(): Promise<Finished>
  /** kill -9. */
  kill(): Promise<Finished>
  finished: Promise<Finished>
}

export interface Options {
  env?: Record<string, string>
  /** Run as another user; needs root. */
  uid?: number
  /** Kill it after this time. */
  timeoutMs?: number
}

export const asRoot = process.getuid?.() === 0
/** Nobody: may read the checkout, and nothing of root's. */
export const NOBODY = 65534

/** A folder of its own for a test, short enough for a socket. */
export async function temporary(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'waggle-e2e-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** Runs a command to its end. */
export function waggle(args: readonly string[], options: Options = {}): Promise<Finished> {
  return launch(args, { timeoutMs: 60_000, ...options }).finished
}

/** Starts `waggle up` (or another command that stays) and waits until it answers. */
export async function startDaemon(
  home: string,
  {
    args = ['up'],
    settings = [],
    ...options
  }: Options & { args?: readonly string[]; settings?: string[] } = {},
): Promise<Daemon> {
  const set = [...QUICK, ...settings].flatMap((setting) => ['--set', setting])
  const { child, finished, output } = launch([...args, '--home', home, ...set], options)
  let ended: Finished | undefined
  finished.then((result) => {
    ended = result
  })
  const client = createClient({ socket: join(home, 'control.sock') })
  const told = () => `\n--- stdout\n${output.stdout}\n--- stderr\n${output.stderr}`

  const until: Daemon['until'] = async (what, satisfied, timeoutMs = 60_000) => {
    const deadline = performance.now() + timeoutMs
    let last: Snapshot | undefined
    while (performance.now() < deadline) {
      if (ended) throw new Error(`the daemon ended (${ended.status ?? ended.signal}) before ${what}${told()}`)
      last = await client.snapshot().catch(() => undefined)
      if (last && satisfied(last)) return last
      await new Promise((next) => setTimeout(next, 50))
    }
    throw new Error(`not within ${timeoutMs} ms: ${what}\n${JSON.stringify(last, null, 1)}${told()}`)
  }
  // A busy machine takes a minute to compile the program.
  await until('it was up', ({ state }) => state !== 'STARTING', 180_000)
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return finished
  }
  return {
    home,
    pid: child.pid!,
    client,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    until,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    finished,
  }
}

const alive = new Set<ChildProcess>()
/** Ends whatever a test that failed left running. */
export async function killAll(): Promise<void> {
  for (const child of alive) child.kill('SIGKILL')
  await Promise.all([...alive].map((child) => new Promise((done) => child.once('close', done))))
}

function launch(args: readonly string[], { env = {}, uid, timeoutMs }: Options) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: ROOT,
    // Tests wait for what they start, which would give way to the other tests.
    env: { ...process.env, NO_COLOR: '1', WAGGLE_LIMITS_PRIORITY: 'normal', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid }),
  })
  alive.add(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (data) => {
    output.stdout += data
  })
  child.stderr.on('data', (data) => {
    output.stderr += data
  })
  const timer = timeoutMs ? setTimeout(() => child.kill('SIGKILL'), timeoutMs) : undefined
  const finished = new Promise<Finished>((done, failed) => {
    child.once('error', failed)
    child.once('close', (status, signal) => {
      clearTimeout(timer)
      alive.delete(child)
      done({ status, signal, ...output })
    })
  })
  return { child, finished, output }
}
