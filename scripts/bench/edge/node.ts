// A node as a user has it after `npm install`: the built program (`npm run build` makes it), started as a process of its
// own, and what the kernel says of it.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createClient } from '../../../daemon/control/api/client.ts'
import type { ControlClient, Snapshot } from '../../../protocol/api/index.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
export const PROGRAM = join(ROOT, 'dist/daemon/cli/waggle.js')
const MAX_MS = 1_200_000

export interface EdgeNode {
  pid: number
  client: ControlClient
  /** Seconds from the start to now. */
  seconds(): number
  until(what: string, satisfied: (snapshot: Snapshot) => unknown): Promise<Snapshot>
  /** By /proc. */
  memory(): { residentBytes: number; anonymousBytes: number; peakBytes: number }
  /** CPU time so far, also of processes that it started, such as npm's. */
  cpuSeconds(): number
  /** Written to disks so far. */
  writtenBytes(): number
  stop(): Promise<void>
  kill(): Promise<void>
}

interface EdgeOptions {
  home: string
  /** Settings, as for `--set`. */
  set?: readonly string[]
  /** Files to write the process's ID to. */
  procs?: readonly string[]
  program?: string
  /** Instead of this Node.js, the program and `up`: starts it in another way, root or emulator. Gets the options of `up`. */
  command?: readonly string[]
  /** The home as the node sees it, if it runs in another root. */
  homeInside?: string
}

/** Resolves once the process exists. */
export function startEdgeNode({
  home,
  set = [],
  procs = [],
  program = PROGRAM,
  command = [process.execPath, program, 'up'],
  homeInside = home,
}: EdgeOptions): EdgeNode {
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run build\``)
  const settings = ['swarm.lan=off', `swarm.name=edge-${process.pid}`, ...set].flatMap((one) => [
    '--set',
    one,
  ])
  const words = [...command, '--home', homeInside, ...settings]
  const enter = procs.map((path) => `echo $$ > ${path}`).join('; ')
  const child = spawn('sh', ['-c', `${enter || ':'}; exec "$@"`, 'sh', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const began = performance.now()
  let output = ''
  let hasEnded = false
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      output = (output + piece.toString()).slice(-20_000)
    })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => {
      process.off('exit', kill)
      hasEnded = true
      resolve()
    }),
  )
  const client = createClient({ socket: join(home, 'control.sock') })
  const pid = child.pid!
  const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8')
  const field = (text: string, key: string): number =>
    Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN)
  return {
    pid,
    client,
    seconds: () => (performance.now() - began) / 1000,
    async until(what, satisfied) {
      const end = performance.now() + MAX_MS
      for (;;) {
        if (hasEnded) throw new Error(`${what}: the node ended\n${output}`)
        if (performance.now() > end) throw new Error(`${what}: not within ${MAX_MS / 1000} s\n${output}`)
        const snapshot = await client.snapshot().catch(() => undefined)
        if (snapshot && satisfied(snapshot)) return snapshot
        await sleep(100)
      }
    },
    memory() {
      const status = read('status')
      return {
        residentBytes: field(status, 'VmRSS') * 1024,
        anonymousBytes: field(status, 'RssAnon') * 1024,
        peakBytes: field(status, 'VmHWM') * 1024,
      }
    },
    cpuSeconds: () => cpuSecondsOf(pid),
    writtenBytes: () => field(read('io'), 'write_bytes') - field(read('io'), 'cancelled_write_bytes'),
    /** By its socket: npm does not hand a signal on. */
    async stop() {
      await client.send('stop', {})
      await ended
    },
    async kill() {
      kill()
      await ended
    },
  }
}

const TICKS_PER_SECOND = 100

/** Of a process and its descendants. */
function cpuSecondsOf(pid: number): number {
  let ticks = 0
  const family = new Set([pid])
  // A child's number is nearly always higher than its parent's.
  for (const one of readdirSync('/proc')
    .map(Number)
    .filter(Boolean)
    .sort((a, b) => a - b)) {
    // The name of the program, in brackets, is the second field. Then follow the state, the parent, and from the 14th field
    // on the user and system time of the process and of its children that have ended.
    const fields = statOf(one)?.split(') ').at(-1)?.split(' ').map(Number)
    if (!fields || !(one === pid || family.has(fields[1]!))) continue
    family.add(one)
    ticks += fields.slice(11, 15).reduce((sum, each) => sum + each, 0)
  }
  return ticks / TICKS_PER_SECOND
}

function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // It has ended.
    return undefined
  }
}

export const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

export const isTraining = ({ training }: Snapshot): boolean => (training?.step ?? 0) > 0
