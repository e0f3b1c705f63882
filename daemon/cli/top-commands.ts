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
  const given = wordsOf(line)
  try {
    const argv = complete(given, context)
    const status = await main(argv, { ...context.io, stdout: output, stderr: output, argv })
    return { status, lines: rest === '' ? lines : [...lines, rest] }
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    return { status: error.exitStatus, lines: [`error: ${error.message}`] }
  }
}

/** With where the daemon is, and refused where it would not end, or would take the terminal. */
function complete(argv: string[], context: Context): string[] {
  const command = COMMANDS.find(({ name }) => name === argv[0])
  // The parser says what is wrong with it, and what was probably meant.
  if (!command) return argv
  if (!topCommands(context).includes(command))
    throw new WaggleError('E_USAGE', `${command.name} is for the shell, not for this screen`)
  const passed = PASSED_ON.filter((name) => context.options[name] !== undefined && takesOption(command, name))
  const all = [...argv, ...passed.flatMap((name) => [`--${name}`, String(context.options[name])])]
  // `events` goes on for ever if nothing else is said.
  if (command.name === 'events') all.push('--no-follow')
  const { options } = parseCommandLine(all, context.io.env, COMMANDS)
  const endless = ENDLESS.find((name) => options[name] === true)
  if (endless) throw new WaggleError('E_USAGE', `--${endless} is for the shell, not for this screen`)
  return all
}

/** Split as a shell does, with quotes; nothing is expanded. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s"']+|"(?:[^"\\]|\\.)*"|'[^']*'|["'])+/g) ?? []
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
      double === undefined ? (single ?? '') : double.replace(/\\(.)/g, '$1'),
    ),
  )
}
