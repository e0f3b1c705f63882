// Starts a node in the background: the same program with the same options, its output in a file, and this one waits
// until it answers or has failed. Nothing is supervised; for that there are service files in scripts/service.

import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Health } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import type { Context } from './context.ts'

const UP_WITHIN_MS = 120_000
const POLL_MS = 100

export async function runDetached(context: Context): Promise<number> {
  const { io, paths, client } = context
  const running = await client.health().catch(() => undefined)
  if (running) throw alreadyRuns(context, running)
  const output = join(paths.logs, 'up.out')
  mkdirSync(paths.logs, { recursive: true })
  const file = openSync(output, 'w')
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
  const until = io.clock() + UP_WITHIN_MS
  for (;;) {
    await sleep(POLL_MS)
    const health = await client.health().catch(() => undefined)
    if (health) return announce(context, health)
    if (ended !== undefined) {
      // Its own words are better than any that could be found here.
      io.stderr.write(readFileSync(output, 'utf8'))
      return ended
    }
    if (io.clock() > until) {
      throw new WaggleError('E_CONTROL', `process ${child.pid} was started and does not answer`, {
        hint: `Its output is in ${output}. End it with \`kill ${child.pid}\`.`,
      })
    }
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

/** The same words for the new process: `up` in place of the command, wherever it stands, and not in the background. */
function withoutDetach(argv: readonly string[]): string[] {
  const command = argv.findIndex((word) => word === 'up' || word === 'restart')
  return argv.flatMap((word, i) =>
    i === command ? ['up'] : word === '--detach' || word === '-d' ? [] : [word],
  )
}

function alreadyRuns({ paths, commandLine }: Context, { name, pid }: Health): WaggleError {
  return new WaggleError(
    'E_HOME_LOCKED',
    `${safeText(name)} (process ${pid}) already runs on ${paths.home ?? paths.state}`,
    {
      hint: `See it with \`${commandLine('status')}\`, stop it with \`${commandLine('stop')}\`, or start another one with --home DIR.`,
    },
  )
}
