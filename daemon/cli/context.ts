// What a command gets: its options, paths, streams, and a client of the daemon. Everything outside the process is
// accessed through Io, so that tests can run commands in their own process.

import type { ControlClient } from '../../protocol/api/index.ts'
import { type Paths, type PathsEnvironment, resolvePaths } from '../config/paths.ts'
import { createClient } from '../control/api/client.ts'
import type { RunNode } from '../control/node/node.ts'
import { type Command, envTwin, GLOBAL_OPTIONS, hasEnvTwin } from './command.ts'
import type { Parsed } from './parse.ts'
import { createRemoteClient } from './remote.ts'

export interface Output {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
  /** Bytes that are written but not yet read. */
  writableLength?: number | undefined
}

export interface Io extends PathsEnvironment {
  stdin: NodeJS.ReadStream
  stdout: Output
  stderr: Output
  clock: () => number
  /** How the user calls this program: `waggle`, or `npm run -s waggle --` in a checkout. */
  program: string
  /** How to run this script again, used to start it in the background. */
  self: readonly string[]
  argv: readonly string[]
  /** Folder of the package. */
  packageRoot: string
  /** Calls `handler` on each terminating signal until the returned function is called. */
  onSignal(handler: (signal: NodeJS.Signals) => void): () => void
  /** Calls `handler` on SIGHUP and SIGUSR2 until the returned function is called. */
  onRequest(handler: (signal: 'SIGHUP' | 'SIGUSR2') => void): () => void
  /** Whether the terminal that started the program has been closed. */
  terminalGone(): boolean
  /** If the reader of standard output closes it, calls `handler` instead of exiting. */
  onReaderGone(handler: () => void): void
  exit(status: number): void
  /** Calls `run` before the process exits, for whatever reason. */
  atExit(run: () => void): void
  loadNode: () => Promise<{ runNode: RunNode }>
  loadRelay: () => Promise<{ runNode: RunNode }>
}

export interface Context {
  io: Io
  /** Every command. Passed in, so that a command need not import the table that imports it. */
  commands: readonly Command[]
  options: Parsed['options']
  arguments: string[]
  /** Names of the options that came from environment variables. */
  fromEnv: ReadonlySet<string>
  json: boolean
  quiet: boolean
  verbose: boolean
  /** Whether to use colours on each stream. */
  color: { stdout: boolean; stderr: boolean }
  paths: Paths
  client: ControlClient
  /** The daemon's address from --on; undefined for the daemon of this home. */
  on: string | undefined
  /** Writes a line of results to standard output. */
  out(text: string): void
  /** Writes a line for the user to standard error, unless --quiet is given. */
  say(text: string): void
  /** A waggle command as this user would type it, with the same --home. */
  commandLine(rest: string): string
}

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
  return createRemoteClient({ on, tokenFile }, { tmpdir: io.tmpdir, atExit: io.atExit })
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

/** The WAGGLE_* variables that set options and are therefore not config keys. */
export function reservedVariables(commands: readonly Command[]): Set<string> {
  const options = [...GLOBAL_OPTIONS, ...commands.flatMap((command) => command.options ?? [])]
  return new Set(options.filter(hasEnvTwin).map(envTwin))
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
