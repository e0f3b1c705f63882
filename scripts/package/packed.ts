// What the scripts beside this one share: packing this checkout, running steps of a new user, and a node that trains one
// step and ends on Ctrl-C.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Snapshot } from '../../protocol/api/index.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A busy machine of two cores takes minutes. */
const STEP_WITHIN_MS = 600_000

export interface ExecPlace {
  cwd: string
  env: NodeJS.ProcessEnv
}

/** A user's PATH: without this checkout and the Node.js in its node_modules. */
export const userPath = (): string =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !dir.includes('node_modules'))
    .join(delimiter)

/** A user's environment, without what `npm run` adds to it. */
export const userEnv = (): NodeJS.ProcessEnv => ({ HOME: process.env.HOME, PATH: userPath() })

/** Runs a step, prints it with its time, and throws unless it ends with `status`. */
export function run(command: string, args: readonly string[], { cwd, env }: ExecPlace, status = 0): string {
  const begun = performance.now()
  const done = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  const isGood = done.status === status
  tell(isGood, begun, [command.split('/').at(-1), ...args].join(' '))
  if (!isGood)
    throw new Error(
      `status ${done.status}, not ${status}\n${done.stdout}\n${done.stderr}\n${done.error ?? ''}`,
    )
  return done.stdout + done.stderr
}

function tell(isGood: boolean, begun: number, what: string): void {
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  console.log(`${isGood ? 'ok  ' : 'FAIL'}  ${seconds.padStart(5)} s  ${what}`)
}

/** Packs the checkout as npm would publish it; the file's path. */
export function pack(target: string): string {
  run('npm', ['pack', '--silent', '--pack-destination', target], { cwd: ROOT, env: userEnv() })
  return join(target, readdirSync(target).find((name) => name.endsWith('.tgz'))!)
}

/** The file that brings all that it depends on, for this platform; its path. */
export function packWhole(target: string): string {
  const release = join(ROOT, 'scripts/package/release.ts')
  run(process.execPath, ['--import', 'tsx', release, '--out', target], { cwd: ROOT, env: userEnv() })
  return join(target, readdirSync(target).find((name) => name.endsWith('.tgz'))!)
}

/** What is read by people, compilers and debuggers only. */
const UNUSED = /\.(map|[cm]?tsx?|md|markdown|flow|tsbuildinfo)$/i
const UNUSED_FOLDERS = new Set(['test', 'tests', '__tests__', '.github', 'umd'])

/** Removes what the program never reads; keeps licences. */
export function prune(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (UNUSED_FOLDERS.has(entry.name) && !existsSync(join(inner, 'package.json')))
        rmSync(inner, { recursive: true })
      else prune(inner)
    } else if (UNUSED.test(entry.name) && !/licen[cs]e|notice/i.test(entry.name)) rmSync(inner)
  }
}

/**
 * `up` until it has trained a step, then SIGINT, as Ctrl-C sends it; it has to end with 0. The signal goes to the node
 * alone: a shell between npx and the node would report the signal instead of the node's status.
 */
export async function trainAndInterrupt(
  { up, ask }: { up: readonly string[]; ask: readonly string[] },
  { cwd, env }: ExecPlace,
): Promise<void> {
  const begun = performance.now()
  const [program, ...args] = up
  const child = spawn(program!, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const ended = new Promise<number | null>((done) => child.once('exit', done))
  let pid: number | undefined
  try {
    for (;;) {
      const { status, stdout } = spawnSync(ask[0]!, ask.slice(1), { cwd, env, encoding: 'utf8' })
      const now = status === 0 ? (JSON.parse(stdout) as Snapshot) : undefined
      pid = now?.node.pid ?? pid
      if ((now?.training?.step ?? 0) > 0) break
      if (child.exitCode !== null || performance.now() - begun > STEP_WITHIN_MS)
        throw new Error(`no training step\n${output}`)
      await sleep(2000)
    }
    tell(true, begun, `${[program!.split('/').at(-1), ...args].join(' ')}: a training step`)
    const asked = performance.now()
    process.kill(pid!, 'SIGINT')
    const status = await ended
    tell(status === 0, asked, `SIGINT: it ends with ${status}`)
    if (status !== 0) throw new Error(output)
  } finally {
    if (child.exitCode === null) process.kill(pid ?? child.pid!, 'SIGKILL')
  }
}
