// A real daemon for an experiment: starts it, watches it through its control socket, and stops it.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ConversationsResult, Evaluation, Health, Snapshot } from '../../../protocol/api/index.ts'

export interface NodeProcess {
  snapshot(): Promise<Snapshot>
  evaluate(promptsPerTask: number): Promise<Evaluation>
  /** Those that are kept, newest first. */
  conversations(): Promise<ConversationsResult>
  join(target: string): Promise<void>
  invite(): Promise<string>
  pause(): Promise<void>
  resume(): Promise<void>
  stop(): Promise<void>
  exited(): boolean
  output(): string
  /** Spent by the process so far, user and system. Linux only. */
  processorSeconds(): number
  /** Most memory that the process has held. Linux only. */
  peakBytes(): number
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/**
 * Resolves when the node answers. `imports`: loaded before it. `command`: words that start a program elsewhere, as in a
 * network of its own.
 */
export async function startNode(
  home: string,
  args: readonly string[] = [],
  { imports = [], command = [] }: { imports?: readonly string[]; command?: readonly string[] } = {},
): Promise<NodeProcess> {
  const [program, ...words] = [...command, process.execPath]
  const child = spawn(
    program!,
    [
      ...words,
      ...imports.flatMap((path) => ['--import', path]),
      join(ROOT, 'daemon/cli/waggle.ts'),
      'up',
      '--home',
      home,
      ...['--set', 'limits.priority=normal'],
      ...args,
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  let exited = false
  const done = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.once('exit', () => {
    exited = true
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      output = (output + piece.toString()).slice(-20_000)
    })
  }
  children.add(child)
  const socketPath = join(home, 'control.sock')
  const call = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    new Promise((resolve, reject) => {
      const sent = request(
        {
          socketPath,
          // A connection of its own: on a busy machine a kept one may be closed while a request is on its way.
          agent: false,
          method,
          path,
          headers: body === undefined ? {} : { 'content-type': 'application/json' },
        },
        (answer) => {
          let text = ''
          answer.on('data', (piece: Buffer) => {
            text += piece.toString()
          })
          answer.on('end', () => {
            if (answer.statusCode === 200) resolve(JSON.parse(text) as T)
            else reject(new Error(`${path}: ${answer.statusCode} ${text}`))
          })
        },
      )
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  for (let attempt = 0; ; attempt++) {
    if (exited) throw new Error(`the node stopped:\n${output}`)
    if (
      await call('GET', '/v1/health').then(
        (health) => (health as Health).state !== 'STARTING',
        () => false,
      )
    )
      break
    if (attempt > 3000) throw new Error(`the node does not answer:\n${output}`)
    await sleep(200)
  }
  /** Again, as long as it fails: many nodes that start on one machine do not hear of each other at once. */
  const patiently = async <T>(ask: () => Promise<T>, attempts = 10): Promise<T> => {
    for (let left = attempts; ; left--)
      try {
        return await ask()
      } catch (error) {
        if (left <= 1 || exited) throw error
        await sleep(2000)
      }
  }
  return {
    snapshot: () => patiently(() => call('GET', '/v1/snapshot')),
    evaluate: (promptsPerTask) => patiently(() => call('POST', '/v1/eval', { promptsPerTask })),
    conversations: () => patiently(() => call('POST', '/v1/conversations', {})),
    async join(target) {
      await patiently(() => call('POST', '/v1/join', { target }))
    },
    invite: async () => (await call<{ invite: string }>('POST', '/v1/invite', {})).invite,
    async pause() {
      await patiently(() => call('POST', '/v1/pause', {}))
    },
    async resume() {
      await patiently(() => call('POST', '/v1/resume', {}))
    },
    async stop() {
      child.kill('SIGTERM')
      await done
    },
    exited: () => exited,
    output: () => output,
    processorSeconds: () => processorSeconds(child.pid!),
    peakBytes: () =>
      1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]),
  }
}

/** User and system time of a process, in the kernel's ticks of 1/100 s. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}
