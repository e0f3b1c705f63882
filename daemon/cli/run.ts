// One call of the program: parse, run the command, turn what went wrong into a message and an exit status. Expected
// errors print without a stack; anything else is a bug and prints with one.

import { EXIT, WaggleError } from '../../protocol/errors.ts'
import { createContext, type Io, takesColor } from './context.ts'
import { parseCommandLine } from './parse.ts'
import { COMMANDS } from './table.ts'

export async function main(argv: readonly string[], io: Io): Promise<number> {
  try {
    const parsed = parseCommandLine(argv, io.env, COMMANDS)
    if (parsed.options.version)
      return await (await import('./commands/version.ts')).run(createContext(parsed, io))
    if (parsed.options.help && parsed.command.name !== 'help') {
      const asked = { ...parsed, arguments: [parsed.command.name] }
      return await (await import('./commands/help.ts')).run(createContext(asked, io))
    }
    const { run } = await parsed.command.load()
    return await run(createContext(parsed, io))
  } catch (error) {
    // The line itself may be what is wrong, so what it asked for is looked up in the raw words.
    report(error, io, {
      json: argv.includes('--json'),
      verbose: argv.includes('--verbose') || argv.includes('-v'),
    })
    return error instanceof WaggleError ? error.exitStatus : EXIT.unexpected
  }
}

function report(error: unknown, io: Io, { json, verbose }: { json: boolean; verbose: boolean }): void {
  const write = (text: string) => io.stderr.write(`${text}\n`)
  if (!(error instanceof WaggleError)) {
    write(
      `error: Waggle failed in a way that it should not: ${error instanceof Error ? error.message : String(error)}`,
    )
    if (error instanceof Error && error.stack) write(error.stack.split('\n').slice(1).join('\n'))
    write('This is a bug. Please report it with the lines above and the output of `waggle version`.')
    return
  }
  const { code, message } = error
  // Errors name commands as `waggle ...`; from a checkout they are called in another way.
  const hint = error.hint?.replaceAll('`waggle ', `\`${io.program} `)
  if (json) {
    write(JSON.stringify({ v: 1, error: { code, message, ...(hint === undefined ? {} : { hint }) } }))
    return
  }
  const red = takesColor(io, io.stderr, {})
    ? (text: string) => `\u001b[1m${text}\u001b[22m`
    : (text: string) => text
  write(`${red('error:')} ${message}`)
  if (hint !== undefined) write(`  try   ${hint}`)
  write(`  ${code}   explained by \`waggle help ${code}\``)
  if (verbose && error.cause instanceof Error && error.cause.stack) write(error.cause.stack)
}
