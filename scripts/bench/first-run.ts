// Times a first-time user's path from outside: clone, `npm ci`, `npm start`, and `join <peer ID>` in another
// terminal. Each run has a fresh clone, home directory and pair of nodes. Prints each run and the medians.
//
//   node --import tsx scripts/bench/first-run.ts [--runs 3] [--tree FOLDER]
//
// It clones the last commit of this repository, or of FOLDER, and uses npm's normal cache.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, homedir, loadavg, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from '../../daemon/control/api/client.ts'
import type { Snapshot } from '../../protocol/api/index.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_MS = 180_000

const { values: flags } = parseArgs({
  options: { runs: { type: 'string', default: '3' }, tree: { type: 'string', default: ROOT } },
})

interface Times {
  'clone and npm ci': number
  'npm start to its first training step': number
  'join to connected': number
  "join to a step on the first node's groups": number
}

/** The environment of somebody who has never seen this checkout. */
function freshEnv(home: string): NodeJS.ProcessEnv {
  const path = (process.env.PATH ?? '').split(delimiter).filter((dir) => !dir.includes('node_modules'))
  return {
    HOME: home,
    PATH: path.join(delimiter),
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    // So that nodes of others on this network stay out of it.
    WAGGLE_SWARM_NAME: `first-run-${process.pid}`,
  }
}

async function once(): Promise<Times> {
  const place = mkdtempSync(join(tmpdir(), 'waggle-first-'))
  const [clone, home] = [join(place, 'waggle'), join(place, 'home')]
  mkdirSync(home)
  const env = freshEnv(home)
  const children: ChildProcess[] = []
  const run = (command: string, args: string[], cwd: string): void => {
    const { status, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  }
  /** Starts a node as a user would; what `look` gives is seconds since then. */
  const start = (args: string[], socket: string) => {
    const begun = performance.now()
    const child = spawn('npm', args, { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += data
      })
    }
    const client = createClient({ socket })
    const look = async (what: string, seen: (snapshot: Snapshot) => unknown) => {
      for (;;) {
        const snapshot = await client.snapshot().catch(() => undefined)
        const seconds = (performance.now() - begun) / 1000
        if (snapshot && seen(snapshot)) return { seconds, snapshot }
        if (seconds * 1000 > MAX_MS || child.exitCode !== null) throw new Error(`not ${what}:\n${output}`)
        await sleep(20)
      }
    }
    return { look, stop: () => client.send('stop', { checkpoint: false }) }
  }
  try {
    const begun = performance.now()
    run('git', ['clone', '--quiet', flags.tree, clone], place)
    run('npm', ['ci', '--silent'], clone)
    const install = (performance.now() - begun) / 1000
    const first = start(['start'], join(home, '.local/state/waggle/control.sock'))
    const stepped = await first.look('a step', ({ training }) => (training?.step ?? 0) > 0)
    const { peerId } = stepped.snapshot.node
    const second = start(
      ['run', '-s', 'waggle', '--', 'join', peerId, '--home', 'b'],
      join(clone, 'b/control.sock'),
    )
    const connected = await second.look('connected', ({ swarm }) =>
      swarm?.peers.some((peer) => peer.id === peerId),
    )
    const used = await second.look(
      'a foreign group used',
      ({ rollouts }) => (rollouts?.trainedForeign ?? 0) > 0,
    )
    await Promise.all([first.stop(), second.stop()])
    return {
      'clone and npm ci': install,
      'npm start to its first training step': stepped.seconds,
      'join to connected': connected.seconds,
      "join to a step on the first node's groups": used.seconds,
    }
  } finally {
    for (const child of children) child.kill('SIGTERM')
    await Promise.all(
      children.map((child) => child.exitCode ?? new Promise((done) => child.once('exit', done))),
    )
    rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
}

const all: Times[] = []
console.log(`${cpus()[0]?.model}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)} before`)
for (let i = 0; i < Number(flags.runs); i++) {
  const times = await once()
  all.push(times)
  console.log(
    `run ${i + 1}  ${Object.values(times)
      .map((seconds) => `${seconds.toFixed(1)} s`)
      .join('  ')}  load ${loadavg()[0]!.toFixed(1)}`,
  )
}
console.log('\n| | median | worst |\n|---|---|---|')
for (const name of Object.keys(all[0]!) as (keyof Times)[]) {
  const sorted = all.map((times) => times[name]).sort((a, b) => a - b)
  console.log(
    `| ${name} | ${sorted[Math.floor(sorted.length / 2)]!.toFixed(1)} s | ${sorted.at(-1)!.toFixed(1)} s |`,
  )
}
