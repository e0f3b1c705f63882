// waggle completion: a script for the shell, made from the table of commands.

import { COMPLETIONS, type Shell } from '../completion.ts'
import type { Context } from '../context.ts'

export async function run(context: Context): Promise<number> {
  context.out(COMPLETIONS[context.arguments[0] as Shell]())
  return 0
}
