// Commands typed in `waggle top`: they run in this process, and their output is collected instead of printed.

import { WaggleError } from '../../protocol/errors.ts'
import { configKeys } from '../config/keys.ts'
import { takesOption } from './context.ts'
import type { Command, Context } from './contract.ts'
import { parseCommandLine } from './parse.ts'
import { main } from './run.ts'

/** Commands that end by themselves; for a remote daemon, only those that take --on. */
export function topCommands({ commands, on }: Pick<Context, 'commands' | 'on'>): Command[] {
  return commands.filter(
    (command) =>
      !command.stays && (on === undefined || command.name === 'help' || takesOption(command, 'on')),
  )
}

/** Tab completions for the words after a command. */
export function wordsAfter(
  { name, arguments: given = [] }: Command,
  { commands }: Pick<Context, 'commands'>,
): string[] {
  if (name === 'set') return configKeys().flatMap(({ path, live }) => (live ? [`${path}=`] : []))
  if (name === 'help') return commands.map((command) => command.name)
  return given.flatMap(({ choices = [] }) => choices)
}

/** Options that make a command run on. */
const ENDLESS = ['follow', 'watch', 'detach']
/** Options that locate the daemon; `waggle top` passes them on to its commands. */
const PASSED_ON = ['home', 'config', 'on', 'token-file'] as const
const MAX_LINES = 2000

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
      lines.push(...parts.slice(0, Math.max(0, MAX_LINES - lines.length)))
    },
  }
  const given = wordsOf(line)
  try {
    const argv = complete(given, context)
    const status = await main(argv, { ...context.io, stdout: output, stderr: output, argv }, context.commands)
    return { status, lines: rest === '' ? lines : [...lines, rest] }
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    return { status: error.exitStatus, lines: [`error: ${error.message}`] }
  }
}

/** Adds the options that locate the daemon. Throws E_USAGE for a command that needs the terminal or does not end. */
function complete(argv: string[], context: Context): string[] {
  const command = context.commands.find(({ name }) => name === argv[0])
  // The parser reports unknown commands with a suggestion.
  if (!command) return argv
  if (!topCommands(context).includes(command))
    throw new WaggleError('E_USAGE', `${command.name} works only in a shell`)
  const passed = PASSED_ON.filter((name) => context.options[name] !== undefined && takesOption(command, name))
  const all = [...argv, ...passed.flatMap((name) => [`--${name}`, String(context.options[name])])]
  // Without this, `events` would not end.
  if (command.name === 'events') all.push('--no-follow')
  const { options } = parseCommandLine(all, context.io.env, context.commands)
  const endless = ENDLESS.find((name) => options[name] === true)
  if (endless) throw new WaggleError('E_USAGE', `--${endless} works only in a shell`)
  return all
}

/** Splits words as a shell does, with quotes but without expansion. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s"']+|"(?:[^"\\]|\\.)*"|'[^']*'|["'])+/g) ?? []
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
      double === undefined ? (single ?? '') : double.replace(/\\(.)/g, '$1'),
    ),
  )
}
