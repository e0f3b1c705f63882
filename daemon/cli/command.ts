// What a command is, as data: help, completion, the reference page and the parser all read the same objects. The code
// behind a command is loaded only when it is called, so that `waggle status` never loads what `waggle up` needs.

import type { Context } from './context.ts'

export interface Option {
  /** Without dashes, such as `no-swarm`. Its environment twin is WAGGLE_NO_SWARM. */
  name: string
  summary: string
  short?: string
  /** What the value is called in help, such as DIR; a switch has none. */
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
  summary: string
  /** Sentences for `waggle help <name>`, beyond the summary. */
  details?: string
  arguments?: readonly Argument[]
  options?: readonly Option[]
  examples?: ReadonlyArray<readonly [command: string, what: string]>
  /** Changes the running node: always, or with one of these as its first argument. The screen asks before it does. */
  changes?: true | readonly string[]
  /** Takes the terminal, or does not end by itself, so that the screen cannot run it. */
  stays?: true
  /** Heading that it stands under in `waggle help`. */
  group: 'Run' | 'Watch' | 'Steer' | 'Set up' | 'Help'
  load: () => Promise<{ run: (context: Context) => Promise<number> }>
}

export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    name: 'home',
    value: 'DIR',
    summary: 'keep everything in one directory; several nodes fit on one machine',
  },
  { name: 'config', value: 'FILE', summary: 'read this config file' },
  { name: 'json', summary: 'write JSON for programs to standard output' },
  { name: 'no-color', summary: 'no colours (NO_COLOR does the same)' },
  { name: 'quiet', short: 'q', summary: 'say only what went wrong' },
  { name: 'verbose', short: 'v', summary: 'say more' },
  { name: 'help', short: 'h', summary: 'explain a command' },
  { name: 'version', short: 'V', summary: 'print the version' },
]

export const envTwin = (option: Option): string => `WAGGLE_${option.name.replaceAll('-', '_').toUpperCase()}`

/** Switches that ask for something once, not settings; an environment variable for them would be a trap. */
export const hasEnvTwin = (option: Option): boolean => option.name !== 'help' && option.name !== 'version'
