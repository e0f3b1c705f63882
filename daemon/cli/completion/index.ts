// Completion scripts for the shells. They contain all commands, options and values, so that completion does not start
// the program.

import type { Key } from '../../config/keys.ts'
import type { Command } from '../contract.ts'
import { bash } from './bash.ts'
import { fish } from './fish.ts'
import { powershell } from './powershell.ts'
import { wordsOf } from './words.ts'
import { zsh } from './zsh.ts'

const SCRIPTS = { bash, zsh, fish, powershell } as const
export type Shell = keyof typeof SCRIPTS

export function completionScript(shell: Shell, commands: readonly Command[], keys: readonly Key[]): string {
  return SCRIPTS[shell](wordsOf(commands, keys))
}
