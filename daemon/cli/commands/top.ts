// waggle top: hands the terminal to the screen, which is a client of the control API like any other.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Context } from '../context.ts'

export async function run(context: Context): Promise<number> {
  const { io, options } = context
  if (io.stdout.isTTY !== true || io.stdin.isTTY !== true || io.env.TERM === 'dumb') {
    throw new WaggleError('E_USAGE', 'there is no terminal to draw on', {
      hint: `Try \`${context.commandLine('status --watch')}\`, which prints plain text.`,
    })
  }
  const interval = Number(options.interval ?? 250)
  if (!Number.isFinite(interval) || interval < 250) {
    throw new WaggleError('E_USAGE', `--interval must be 250 or more milliseconds, not "${options.interval}"`)
  }
  // Asked once before the screen is taken, so that a daemon that is not there is said in plain text.
  await context.client.health()
  const { runTop } = await import('../../../tui/main.tsx')
  const status = await runTop(
    { intervalMs: interval, ascii: options.ascii === true, color: context.color.stdout, env: io.env },
    { client: context.client, stdin: io.stdin, stdout: process.stdout, clock: io.clock, process },
  )
  if (status === 0) context.say(`The daemon goes on; stop it with \`${context.commandLine('stop')}\`.`)
  return status
}
