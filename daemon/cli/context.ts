// What a command gets: its options, where things are, the streams, and a client to the daemon, each made when first
// asked for. Everything of the world comes in through Io, so tests can run a command in their own process.

import type { ControlClient } from '../../protocol/api/index.ts'
import { type Paths, type PathsEnvironment, resolvePaths } from '../config/paths.ts'
import { createClient } from '../control/client.ts'
import type { RunNode } from '../control/node.ts'
import { type Command, envTwin, GLOBAL_OPTIONS, hasEnvTwin } from './command.ts'
import type { Parsed } from './parse.ts'
import { createRemoteClient } from './remote.ts'
import { COMMANDS } from './table.ts'

export interface Output {
  write(text: string): unknown
  isTTY?: boolean | undefined
  columns?: number | undefined
  /** Bytes that its reader has not taken yet. */
  writableLength?: number | undefined
}

export interface Io extends PathsEnvironment {
  stdin: NodeJS.ReadStream
  stdout: Output
  stderr: Output
  clock: () => number
  /** How this program is called, for commands shown to the reader: `waggle`, or npm's way from a checkout. */
  program: string
  /** The script that runs, and the words after it, for starting it again in the background. */
  self: readonly string[]
  argv: readonly string[]
  /** Folder of the package. */
  packageRoot: string
  /** Runs `handler` on each of the signals until the returned function is called. */
  onSignal(handler: (signal: NodeJS.Signals) => void): () => void
  /** Runs `handler` on each signal that asks for something other than an end, until the returned function is called. */
  onRequest(handler: (signal: 'SIGHUP' | 'SIGUSR2') => void): () => void
  /** Whether the terminal that this was started on has been closed. */
  terminalGone(): boolean
  /** Runs `handler`, in place of an end, once nobody reads standard output any more. */
  onReaderGone(handler: () => void): void
  exit(status: number): void
  /** Runs before this process ends, however it does. */
  atExit(run: () => void): void
  loadNode: () => Promise<{ runNode: RunNode }>
  loadRelay: () => Promise<{ runNode: RunNode }>
}

export interface Context {
  io: Io
  options: Parsed['options']
  arguments: string[]
  json: boolean
  quiet: boolean
  verbose: boolean
  /** Whether standard output, or standard error, takes colours. */
  color: { stdout: boolean; stderr: boolean }
  paths: Paths
  client: ControlClient
  /** Where the daemon is, if --on says that it is elsewhere. */
  on: string | undefined
  /** A line of data. */
  out(text: string): void
  /** A line of talk: standard error, nothing with --quiet. */
  say(text: string): void
  /** A waggle command as this reader would type it, with the same --home. */
  commandLine(rest: string): string
}

export function createContext({ options, arguments: args }: Parsed, io: Io): Context {
  const text = (name: string) => options[name] as string | undefined
  const paths = resolvePaths({ home: text('home'), config: text('config') }, io)
  const quiet = options.quiet === true
  const on = text('on')
  return {
    io,
    options,
    arguments: args,
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

/** NO_COLOR (any value) and TERM=dumb turn colours off, FORCE_COLOR turns them on where there is no terminal. */
export function takesColor(io: Io, stream: Output, options: Parsed['options']): boolean {
  if (options['no-color'] === true || (io.env.NO_COLOR ?? '') !== '') return false
  const forced = io.env.FORCE_COLOR
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && io.env.TERM !== 'dumb'
}

export const takesOption = ({ options = [] }: Command, name: string): boolean =>
  [...GLOBAL_OPTIONS, ...options].some((option) => option.name === name)

/** Every WAGGLE_* variable that is the twin of an option, and so no config key. */
export function reservedVariables(): Set<string> {
  const options = [...GLOBAL_OPTIONS, ...COMMANDS.flatMap((command) => command.options ?? [])]
  return new Set(options.filter(hasEnvTwin).map(envTwin))
}

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
