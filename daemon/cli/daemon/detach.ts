// Starts a node in the background: runs the same program with the same options and its output in a file, and waits
// until it answers or fails. It does not supervise the node; the service files in scripts/service do.

import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Health } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'
import { commandName } from '../parse.ts'
import { refuseSecond } from './second.ts'

/** A busy machine may take minutes. A process that is still starting is never killed. */
const UP_WITHIN_MS = 900_000
const TELL_EVERY_MS = 20_000
const POLL_MS = 100
const LINE_CHARS = 200

export async function runDetached(context: Context): Promise<number> {
  const { io, paths, client } = context
  await refuseSecond(context)
  const output = join(paths.logs, 'up.out')
  const file = openOutput(output)
  const child = spawn(process.execPath, [...process.execArgv, ...io.self, ...withoutDetach(io.argv)], {
    detached: true,
    stdio: ['ignore', file, file],
    cwd: io.cwd,
    env: { ...io.env, WAGGLE_DETACH: '0' },
  })
  closeSync(file)
  child.unref()
  let ended: number | undefined
  child.once('exit', (status, signal) => {
    ended = status ?? (signal ? 128 : 1)
  })
  const words = () => readFileSync(output, 'utf8')
  const outcome = await whenUp(
    { pid: child.pid, output, status: context.commandLine('status') },
    {
      health: () => client.health().catch(() => undefined),
      ended: () => ended,
      words,
      say: (line) => context.say(line),
      clock: io.clock,
      pause: () => sleep(POLL_MS),
    },
  )
  if (typeof outcome !== 'number') return announce(context, outcome)
  // The node's own output explains the failure best.
  io.stderr.write(words())
  return outcome
}

/** As the node itself would, this makes a home that no other user can read. */
export function openOutput(output: string): number {
  try {
    mkdirSync(dirname(output), { recursive: true, mode: 0o700 })
    return openSync(output, 'w')
  } catch (cause) {
    throw new WaggleError('E_HOME', `cannot write ${output}: ${(cause as Error).message}`, {
      hint: 'Make the home writable for this user, or use --home DIR on another disk.',
      cause,
    })
  }
}

interface Starting {
  health(): Promise<Health | undefined>
  /** The process's exit status, once it has exited. */
  ended(): number | undefined
  /** The process's output so far. */
  words(): string
  say(line: string): void
  clock(): number
  pause(): Promise<unknown>
}

/** Waits until the process answers or exits, and prints progress. Resolves with its health or its exit status. */
export async function whenUp(
  { pid, output, status }: { pid: number | undefined; output: string; status: string },
  { health, ended, words, say, clock, pause }: Starting,
): Promise<Health | number> {
  const began = clock()
  let told = began
  for (;;) {
    await pause()
    const answer = await health()
    const found = answer?.state === 'STARTING' ? ended() : (answer ?? ended())
    if (found !== undefined) return found
    const now = clock()
    if (now - told >= TELL_EVERY_MS) {
      told = now
      const last = words().trim().split('\n').at(-1) ?? ''
      say(
        `  still starting, ${Math.round((now - began) / 1000)} s: ${safeText(last, { limit: LINE_CHARS, line: true })}`,
      )
    }
    if (now - began > UP_WITHIN_MS)
      throw new WaggleError('E_CONTROL', `process ${pid} is still starting and does not answer yet`, {
        hint: `It keeps starting; its output is in ${output}. Use \`${status}\` to see when it is up.`,
      })
  }
}

function announce(context: Context, { name, peerId, pid }: Health): number {
  if (context.json) context.out(JSON.stringify({ v: 1, name, peerId, pid }))
  else {
    context.out(`${safeText(name)}  ${peerId}  runs as process ${pid}`)
    context.out(
      `  next    ${context.commandLine('top')}   ${context.commandLine('logs -f')}   ${context.commandLine('stop')}`,
    )
  }
  return 0
}

/** The arguments for the new process: `up` instead of the command, and without --detach. */
export function withoutDetach(argv: readonly string[]): string[] {
  const command = commandName(argv)?.index
  return argv.flatMap((word, i) =>
    i === command ? ['up'] : word === '--detach' || word === '-d' ? [] : [word],
  )
}
