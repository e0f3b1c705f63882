// waggle relay: runs a node that relays and does not train, in the foreground.

import type { Context } from '../../contract.ts'
import { runForeground } from '../../daemon/foreground.ts'
import { readTarget } from '../../daemon/join-target.ts'

export async function run(context: Context): Promise<number> {
  const [argument] = context.arguments
  const join = argument === undefined ? undefined : await readTarget(argument, context.io.stdin)
  return await runForeground(context, { relay: true, ...(join !== undefined && { join }) })
}
