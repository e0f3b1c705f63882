// Commands as the screen's command line runs them: in this process, with their output gathered instead of written.

import { WaggleError } from '../../protocol/errors.ts'
import type { Command } from './command.ts'
import { type Context, takesOption } from './context.ts'
import { parseCommandLine } from './parse.ts'
import { main } from './run.ts'
import { COMMANDS } from './table.ts'

/** What the screen offers: what ends by itself, and, for a daemon elsewhere, what asks that one. */
export function topCommands({ on }: Pick<Context, 'on'>): Command[] {
  return COMMANDS.filter(
    (command) =>
      !command.stays && (on === undefined || command.name === 'help' || takesOption(command, 'on')),
  )
}

/** Options with which a command does not end by itself. */
const ENDLESS = ['follow', 'watch', 'detach']
/** Where the daemon is; given to the screen, and so to its commands. */
const PASSED_ON = ['home', 'config', 'on', 'token-file'] as const
const MOST_LINES = 2000

export interface Outcome {
  status: number
  lines: string[]
}

export async function runTopCommand(line: string, context: Context): Promise<Outcome> {
  const lines: string[] = []
  let rest = ''
  const output = {
    isTTY: false,
    columns: 100,
    write(text: string) {
      const parts = (rest + text).split('\n')
      rest = parts.pop()!
      lines.push(...parts.slice(0, Math.max(0, MOST_LINES - lines.length)))
    },
  }
  const argv = wordsOf(line)
  const io = { ...context.io, stdout: output, stderr: output, argv }
  const status = await main(refused(argv, context) ?? complete(argv, context), io)
  if (rest !== '') lines.push(rest)
  return { status, lines }
}

/** The words with which the parser says what is wrong, where this cannot be run here. */
function refused(argv: string[], context: Context): string[] | undefined {
  const known = topCommands(context).map(({ name }) => name)
  const command = COMMANDS.find(({ name }) => name === argv[0])
  if (!command || known.includes(command.name)) return undefined
  throw new WaggleError('E_USAGE', `${command.name} is for the shell, not for this screen`)
}

function complete(argv: string[], context: Context): string[] {
  const command = COMMANDS.find(({ name }) => name === argv[0])
  if (!command) return argv
  const given = PASSED_ON.filter((name) => context.options[name] !== undefined && takesOption(command, name))
  const all = [...argv, ...given.flatMap((name) => [`--${name}`, String(context.options[name])])]
  // `events` goes on for ever if nothing else is said.
  if (command.name === 'events') all.push('--no-follow')
  const { options } = parseCommandLine(all, context.io.env, COMMANDS)
  const endless = ENDLESS.find((name) => options[name] === true)
  if (endless) throw new WaggleError('E_USAGE', `--${endless} is for the shell, not for this screen`)
  return all
}

/** Split as a shell does, with quotes; nothing is expanded. */
export function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const [, double, single, plain] of line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)) {
    words.push(double?.replace(/\\(.)/g, '$1') ?? single ?? plain!)
  }
  return words
}
