// Options that every command takes.

import type { Option } from './contract.ts'

export const GLOBAL_OPTIONS: readonly Option[] = [
  {
    name: 'home',
    value: 'DIR',
    summary: 'the folder with everything of a node',
  },
  { name: 'config', value: 'FILE', summary: 'read this config file' },
  { name: 'json', summary: 'write JSON to standard output' },
  { name: 'no-color', summary: 'do not use colours (NO_COLOR does the same)' },
  { name: 'quiet', short: 'q', summary: 'print errors only' },
  { name: 'verbose', short: 'v', summary: 'print more details' },
  { name: 'help', short: 'h', summary: 'explain a command' },
  { name: 'version', short: 'V', summary: 'print the version' },
]

export const variableName = (option: Option): string =>
  `WAGGLE_${option.name.replaceAll('-', '_').toUpperCase()}`

/** --help and --version are one-off requests; as a variable, they would break every command. */
export const hasVariable = (option: Option): boolean => option.name !== 'help' && option.name !== 'version'
