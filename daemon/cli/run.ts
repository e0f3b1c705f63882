// One run of the program: parses the command line, runs the command, and turns errors into a message and an exit
// status. Expected errors are printed without a stack; anything else is a bug and is printed with one.

import { EXIT, WaggleError } from '../../protocol/errors.ts'
import { readSwitch } from '../config/switch.ts'
import { createContext, quoted, takesColor } from './context.ts'
import type { Command, Io } from './contract.ts'
import { parseCommandLine } from './parse.ts'

export async function main(argv: readonly string[], io: Io, commands: readonly Command[]): Promise<number> {
  try {
    const parsed = parseCommandLine(argv, io.env, commands)
    if (parsed.options.version)
      return await (await import('./commands/set-up/version.ts')).run(createContext(parsed, io, commands))
    if (parsed.options.help && parsed.command.name !== 'help') {
      const asked = { ...parsed, arguments: [parsed.command.name] }
      return await (await import('./commands/set-up/help.ts')).run(createContext(asked, io, commands))
    }
    const { run } = await parsed.command.load()
    return await run(createContext(parsed, io, commands))
  } catch (error) {
    // Parsing may have failed, so these options are read from the raw arguments.
    report(error, io, {
      json: argv.includes('--json') || readSwitch(io.env.WAGGLE_JSON ?? '') === true,
      verbose: argv.includes('--verbose') || argv.includes('-v'),
      home: homeFlag(argv),
    })
    return error instanceof WaggleError ? error.exitStatus : EXIT.unexpected
  }
}

/** The `--home DIR` of the command line, for suggested commands. */
function homeFlag(argv: readonly string[]): string {
  const at = argv.findIndex((word) => word === '--home' || word.startsWith('--home='))
  if (at < 0) return ''
  const home = argv[at] === '--home' ? argv[at + 1] : argv[at]!.slice('--home='.length)
  return home ? ` --home ${quoted(home)}` : ''
}

/** Errors name commands as `waggle ...`. In a checkout they are called differently, and perhaps with a home. */
function asTyped(text: string, { program }: Io, flag: string): string {
  // A command for another node must not get this home.
  const home = /other node/.test(text) ? '' : flag
  return text.replace(/`waggle ([a-z-]+)([^`]*)`/g, (_, command: string, rest: string) => {
    const takesHome = !['help', 'version', 'completion'].includes(command) && !rest.includes('--home')
    return `\`${program} ${command}${rest}${takesHome ? home : ''}\``
  })
}

interface ReportOptions {
  json: boolean
  verbose: boolean
  home: string
}

function report(error: unknown, io: Io, { json, verbose, home }: ReportOptions): void {
  const write = (text: string) => io.stderr.write(`${text}\n`)
  if (!(error instanceof WaggleError)) {
    reportBug(error, json, write)
    return
  }
  const { code } = error
  const message = asTyped(error.message, io, '')
  const hint = error.hint && asTyped(error.hint, io, home)
  if (json) {
    write(JSON.stringify({ v: 1, error: { code, message, ...(hint === undefined ? {} : { hint }) } }))
    return
  }
  const red = takesColor(io, io.stderr, {})
    ? (text: string) => `\u001b[1m${text}\u001b[22m`
    : (text: string) => text
  write(`${red('error:')} ${message}`)
  if (hint !== undefined) write(`  try   ${hint}`)
  write(`  ${code}   see \`${io.program} help ${code}\``)
  if (verbose && error.cause instanceof Error && error.cause.stack) write(error.cause.stack)
}

/** For an error that is not one of ours. */
function reportBug(error: unknown, json: boolean, write: (text: string) => void): void {
  const message = `unexpected failure: ${error instanceof Error ? error.message : String(error)}`
  const stack = error instanceof Error ? error.stack?.split('\n').slice(1).join('\n') : undefined
  const hint = (lines: string) =>
    `This is a bug. Please report it with ${lines} and the output of \`waggle version\`.`
  if (json) {
    const code = 'E_UNEXPECTED'
    write(
      JSON.stringify({
        v: 1,
        error: { code, message, hint: hint('this line'), ...(stack ? { stack } : {}) },
      }),
    )
    return
  }
  write(`error: ${message}`)
  if (stack) write(stack)
  write(hint('the lines above'))
}
