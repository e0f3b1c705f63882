// waggle completion: a completion script for the shell, generated from the table of commands.

import { configKeys } from '../../../config/keys.ts'
import { completionScript, type Shell } from '../../completion/index.ts'
import type { Context } from '../../contract.ts'

export async function run(context: Context): Promise<number> {
  context.out(completionScript(context.arguments[0] as Shell, context.commands, configKeys()))
  return 0
}
