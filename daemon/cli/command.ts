// A command as data: help, completion, the reference page and the parser all read the same objects. A command's code is
// loaded when it is called, so that `waggle status` never loads what `waggle up` needs.

import type { Context } from './context.ts'

export interface Option {
  /** Without dashes, such as `no-swarm`. The variable WAGGLE_NO_SWARM does the same. */
  name: string
  summary: string
  short?: string
  /** Name of the value in help texts, such as DIR. A switch has none. */
  value?: string
  repeat?: boolean
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
   * Changes the running node: always, or if its first argument is one of these. `waggle top` asks for confirmation.
   */
  changes?: true | readonly string[]
  /** Needs the terminal or does not end by itself, so `waggle top` cannot run it. */
  stays?: true
  /** Heading in `waggle help`. */
  group: 'Run' | 'Watch' | 'Steer' | 'Set up' | 'Help'
  load: () => Promise<{ run: (context: Context) => Promise<number> }>
}

export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    name: 'home',
    value: 'DIR',
    summary: 'keep everything in one directory, for several nodes on one machine',
  },
  { name: 'config', value: 'FILE', summary: 'read this config file' },
  { name: 'json', summary: 'write JSON to standard output' },
  { name: 'no-color', summary: 'do not use colours (NO_COLOR does the same)' },
  { name: 'quiet', short: 'q', summary: 'print errors only' },
  { name: 'verbose', short: 'v', summary: 'print more details' },
  { name: 'help', short: 'h', summary: 'explain a command' },
  { name: 'version', short: 'V', summary: 'print the version' },
]

export const envTwin = (option: Option): string => `WAGGLE_${option.name.replaceAll('-', '_').toUpperCase()}`

/** --help and --version are one-off requests; as a variable, they would break every command. */
export const hasEnvTwin = (option: Option): boolean => option.name !== 'help' && option.name !== 'version'
