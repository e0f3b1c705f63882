// What a command gets: its options, paths, streams, and a client of the daemon. Everything outside the process is
// accessed through Io, so that tests can run commands in their own process.

import { resolve } from 'node:path'
import type { ControlClient } from '../../protocol/api/index.ts'
import { type Paths, resolvePaths } from '../config/paths.ts'
import { createClient } from '../control/api/client.ts'
import type { Command, Context, Io, Output, Parsed } from './contract.ts'
import { GLOBAL_OPTIONS, hasVariable, variableName } from './global-options.ts'
import { createRemoteClient } from './remote.ts'

export function createContext(
  { options, arguments: args, fromEnv }: Parsed,
  io: Io,
  commands: readonly Command[],
): Context {
  const text = (name: string) => options[name] as string | undefined
  const paths = resolvePaths({ home: text('home'), config: text('config') }, io)
  const quiet = options.quiet === true
  const on = text('on')
  return {
    io,
    commands,
    options,
    arguments: args,
    fromEnv,
    json: options.json === true,
    quiet,
    verbose: options.verbose === true,
    color: { stdout: takesColor(io, io.stdout, options), stderr: takesColor(io, io.stderr, options) },
    paths,
    client: clientOf({ on, tokenFile: text('token-file') }, paths, io),
    on,
    out: (line) => void io.stdout.write(`${line}\n`),
    say: (line) => void (quiet || io.stderr.write(`${line}\n`)),
    commandLine: (rest) =>
      `${io.program} ${rest}${text('home') === undefined ? '' : ` --home ${quoted(text('home')!)}`}`,
  }
}

function clientOf(
  { on, tokenFile }: { on: string | undefined; tokenFile: string | undefined },
  paths: Paths,
  io: Io,
): ControlClient {
  if (on === undefined) return createClient({ socket: paths.socket })
  return createRemoteClient(
    { on, tokenFile: tokenFile && resolve(io.cwd, tokenFile) },
    { tmpdir: io.tmpdir, atExit: io.atExit },
  )
}

/** NO_COLOR (any value) and TERM=dumb turn colours off; FORCE_COLOR turns them on without a terminal. */
export function takesColor(io: Io, stream: Output, options: Parsed['options']): boolean {
  if (options['no-color'] === true || (io.env.NO_COLOR ?? '') !== '') return false
  const forced = io.env.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && io.env.TERM !== 'dumb'
}

export const takesOption = ({ options = [] }: Command, name: string): boolean =>
  [...GLOBAL_OPTIONS, ...options].some((option) => option.name === name)

/** Whether a command is about all nodes of a list. */
export const isForAll = ({ options }: Context): boolean => options.all === true || options.fleet !== undefined

/** The WAGGLE_* variables that set options and are therefore not config keys. */
export function reservedVariables(commands: readonly Command[]): Set<string> {
  const options = [...GLOBAL_OPTIONS, ...commands.flatMap((command) => command.options ?? [])]
  return new Set(options.filter(hasVariable).map(variableName))
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
