// A command as data: help, completion, the reference page and the parser all read the same objects. A command's code is
// loaded when it is called, so that `waggle status` never loads what `waggle up` needs. It accesses everything outside
// the process through Io, so that tests can run commands in their own process.

import type { ControlClient } from '../../protocol/api/index.ts'
import type { Paths, PathsEnvironment } from '../config/paths.ts'
import type { RunNode } from '../control/node/node.ts'

export interface Option {
  /** Without dashes, such as `no-swarm`. The variable WAGGLE_NO_SWARM does the same. */
  name: string
  summary: string
  short?: string
  /** Name of the value in help texts, such as DIR. A switch has none. */
  value?: string
  repeat?: boolean
  /** Values that completion offers, if no config key says them. */
  choices?: readonly string[]
  /** The config key that this option sets; a switch sets it to `sets`. */
  key?: string
  sets?: string
}

export interface Argument {
  name: string
  summary: string
  required?: boolean
  repeat?: boolean
  choices?: readonly string[]
}

export interface Command {
  name: string
  /** The name that it had in the last version, which is answered with the new one. */
  formerly?: string
  summary: string
  /** Sentences for `waggle help <name>`, beyond the summary. */
  details?: string
  arguments?: readonly Argument[]
  options?: readonly Option[]
  examples?: ReadonlyArray<readonly [command: string, what: string]>
  /**
   * Changes the running node: always, or with one of these words, of which '' is none. `waggle top` asks for
   * confirmation.
   */
  changes?: true | readonly string[]
  /** Needs the terminal or does not end by itself, so `waggle top` cannot run it. */
  stays?: true
  /** Heading in `waggle help`. */
  group: 'Run' | 'Watch' | 'Steer' | 'Set up' | 'Help'
  load: () => Promise<{ run: (context: Context) => Promise<number> }>
}

export interface Parsed {
  command: Command
  options: Record<string, string | boolean | string[] | undefined>
  arguments: string[]
  /** Names of the options that came from environment variables. */
  fromEnv: ReadonlySet<string>
}

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
