// waggle up: runs a node in the foreground or, with --detach, in the background. Loading the code takes seconds on a
// slow machine, so the first line is printed before that.

import { VERSION } from '../../../../protocol/package.ts'
import type { Context } from '../../contract.ts'
import { inLogLines } from '../../text/log-lines.ts'

export async function run(context: Context): Promise<number> {
  if (context.options.detach === true)
    return await (await import('../../daemon/detach.ts')).runDetached(context)
  inLogLines(context).say(`starting Waggle ${VERSION}`)
  return await (await import('../../daemon/foreground.ts')).runForeground(context)
}
