// What does the screen cost? CPU of the real program on a real terminal (tmux) at four frames a second, and memory
// over an hour's worth of updates (14 400), sent as fast as they are accepted.
//
//   node --import tsx scripts/bench/tui/run.ts [--seconds 60] [--updates 14400]

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../../..')
const SERVER = `waggle-bench-${process.pid}`
const SIZES = [
  [100, 30],
  [80, 24],
  [60, 15],
  [200, 60],
] as const
/** Clock ticks per second in /proc/<pid>/stat; 100 on every Linux of the last twenty years. */
const TICKS = 100

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, updates: { type: 'string', default: '14400' } },
})
const seconds = Number(values.seconds)

const tmux = (...args: string[]): string =>
  execFileSync('tmux', ['-L', SERVER, ...args], {
    encoding: 'utf8',
    env: { ...process.env, TMUX: '' },
  }).trim()

function cpuSeconds(pid: string): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Fields after the name in brackets, which may hold spaces: user and system time are the 14th and 15th of all.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

const rss = (pid: string): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

async function measureCpu(home: string, columns: number, rows: number, tab: string): Promise<string[]> {
  const session = `s${columns}t${tab}`
  const program = `exec ${process.execPath} --import tsx ${join(ROOT, 'daemon/cli/waggle.ts')} top --home ${home}`
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    String(columns),
    '-y',
    String(rows),
    '-s',
    session,
    program,
  )
  const pid = tmux('display-message', '-p', '-t', session, '#{pane_pid}')
  for (let tries = 0; !/TRAINING/.test(tmux('capture-pane', '-p', '-t', session)); tries++) {
    if (tries > 600) throw new Error('the screen did not come up')
    await sleep(100)
  }
  tmux('send-keys', '-t', session, tab)
  // What is compiled and warmed up on the way is not what an hour costs.
  await sleep(10_000)
  const before = cpuSeconds(pid)
  const began = performance.now()
  await sleep(seconds * 1000)
  const spent = cpuSeconds(pid) - before
  const share = (spent / (performance.now() - began)) * 1e5
  const memory = rss(pid)
  tmux('kill-session', '-t', session)
  return [`${columns} x ${rows}`, `tab ${tab}`, `${share.toFixed(1)} % of a core`, `${memory.toFixed(0)} MB`]
}

const home = mkdtempSync(join(tmpdir(), 'waggle-bench-tui-'))
const daemon = spawn(
  process.execPath,
  ['--import', 'tsx', join(ROOT, 'test/cli/scripted-waggle.ts'), 'up', '--home', home],
  { cwd: ROOT, stdio: 'ignore', env: { ...process.env, STEP_MS: '200' } },
)
try {
  while (!existsSync(join(home, 'control.sock'))) await sleep(100)
  console.log('| window | tab | CPU at 4 Hz | resident |\n|---|---|---|---|')
  for (const [columns, rows] of SIZES) {
    console.log(`| ${(await measureCpu(home, columns, rows, '1')).join(' | ')} |`)
  }
  for (const tab of ['2', '3', '4', '6'])
    console.log(`| ${(await measureCpu(home, 100, 30, tab)).join(' | ')} |`)
} finally {
  daemon.kill('SIGKILL')
  try {
    tmux('kill-server')
  } catch {
    // The last session took it along.
  }
  rmSync(home, { recursive: true, force: true })
}
const { measureMemory } = await import('./memory.ts')
for (const line of await measureMemory({ updates: Number(values.updates) })) console.log(line)
process.exit(0)
