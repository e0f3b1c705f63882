// waggle top: starts the terminal UI, which is a client of the control API like any other.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { ControlClient } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { listRuns } from '../../../control/journal/run-file.ts'
import { isForAll } from '../../context.ts'
import type { Context } from '../../contract.ts'
import { screenSettings } from '../../load-config.ts'
import { runTopCommand, topCommands, wordsAfter } from '../../top-commands.ts'

export async function run(context: Context): Promise<number> {
  const { io, options } = context
  if (isForAll(context)) return await (await import('../../fleet/run.ts')).topOfAll(context)
  if (io.stdout.isTTY !== true || io.stdin.isTTY !== true || io.env.TERM === 'dumb') {
    throw new WaggleError('E_USAGE', 'this is not a terminal', {
      hint: `\`${context.commandLine('status --watch')}\` prints plain text.`,
    })
  }
  const interval = Number(options.interval ?? 250)
  if (!Number.isFinite(interval) || interval < 250) {
    throw new WaggleError('E_USAGE', `--interval must be 250 or more milliseconds, not "${options.interval}"`)
  }
  const source = await sourceOf(context)
  const { theme, mouse } = screenSettings(context)
  const { runTop } = await import('../../../../tui/main.ts')
  const status = await runTop(
    {
      intervalMs: interval,
      ascii: options.ascii === true,
      color: context.color.stdout,
      theme,
      mouse,
      env: io.env,
      ...(context.on ? { host: context.on } : {}),
      readOnly: options['read-only'] === true,
      commands: topCommands(context).map((command) => ({
        name: command.name,
        summary: command.summary,
        changes: command.changes ?? false,
        completes: wordsAfter(command, context),
      })),
      folder: io.cwd,
    },
    {
      source,
      // Keys are the screen's: a command that reads finds nothing.
      onCommand: (line) => runTopCommand(line, { ...context, io: { ...io, stdin: nothing() } }),
      stdin: io.stdin,
      stdout: process.stdout,
      clock: io.clock,
      process,
    },
  )
  // The daemon elsewhere is not the one that `stop` would stop.
  const how = context.on ? '.' : `; stop it with \`${context.commandLine('stop')}\`.`
  if (status === 0 && !('lines' in source)) context.say(`The daemon keeps running${how}`)
  return status
}

const nothing = () => Readable.from([]) as NodeJS.ReadStream

/** The daemon or, with --replay, a recorded run: a file, or `last` for the newest run of this home. */
async function sourceOf({
  options,
  io,
  paths,
  client,
}: Context): Promise<ControlClient | { lines: string[] }> {
  const asked = options.replay as string | undefined
  if (asked === undefined) {
    // If no daemon is running, this fails here, in plain text.
    await client.health()
    return client
  }
  const file = asked === 'last' ? listRuns(paths.runs)[0] : resolve(io.cwd, asked)
  if (file === undefined) {
    throw new WaggleError('E_USAGE', `no run was recorded in ${paths.runs}`, {
      hint: '`waggle up` records its run.',
    })
  }
  try {
    return { lines: readFileSync(file, 'utf8').split('\n') }
  } catch (cause) {
    throw new WaggleError('E_USAGE', `cannot read ${file}: ${(cause as Error).message}`, {
      hint: `Recorded runs are in ${paths.runs}; \`--replay last\` takes the newest.`,
      cause,
    })
  }
}
