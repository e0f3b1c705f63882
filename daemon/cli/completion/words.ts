// What completion offers where, for every shell: commands, options, and the values of options.

import type { Key } from '../../config/keys.ts'
import type { Command, Option } from '../contract.ts'
import { GLOBAL_OPTIONS } from '../global-options.ts'

const FILES = new Set(['DIR', 'FILE'])

export interface Words {
  commands: readonly Command[]
  /** The values of an option; empty if they are not known. */
  valuesOf(option: Option): readonly string[]
  /** Every option with values, once. */
  valued: ReadonlyArray<{ flag: string; values: readonly string[] }>
  /** Every option that takes a file or a folder, once. */
  takingFiles: readonly string[]
  /** For --set: `key=` for each key, and `key=value` where the values are known. */
  settings: readonly string[]
}

export function wordsOf(commands: readonly Command[], keys: readonly Key[]): Words {
  const known = new Map(keys.map((key) => [key.path, choicesOf(key)]))
  const valuesOf = ({ name, key, choices, value }: Option): readonly string[] =>
    value === undefined ? [] : (choices ?? known.get(key ?? name) ?? [])
  const all = [...new Map([...commands.flatMap(optionsOf)].map((option) => [option.name, option])).values()]
  return {
    commands,
    valuesOf,
    valued: all
      .map((option) => ({ flag: `--${option.name}`, values: valuesOf(option) }))
      .filter(({ values }) => values.length > 0),
    takingFiles: all.filter(takesFile).map(({ name }) => `--${name}`),
    settings: keys.flatMap((key) => [
      `${key.path}=`,
      ...choicesOf(key).map((value) => `${key.path}=${value}`),
    ]),
  }
}

const choicesOf = ({ choices, type }: Key): readonly string[] =>
  choices ?? (type === 'boolean' ? ['true', 'false'] : [])

export const takesFile = ({ value }: Option): boolean => value !== undefined && FILES.has(value)
export const optionsOf = (command: Command): Option[] => [...(command.options ?? []), ...GLOBAL_OPTIONS]

/** Words that Tab offers as arguments of the command. */
export const argumentsOf = (command: Command, commands: readonly Command[]): string[] => [
  ...(command.arguments ?? []).flatMap(({ choices }) => choices ?? []),
  ...(command.name === 'help' ? commands.map(({ name }) => name) : []),
]

/** Arguments and options of the command. */
export const wordsFor = (command: Command, commands: readonly Command[]): string[] => [
  ...argumentsOf(command, commands),
  ...optionsOf(command).map(({ name }) => `--${name}`),
]
