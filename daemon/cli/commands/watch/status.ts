// waggle status: one snapshot as text. Must stay quick, so it loads nothing heavy.

import { setTimeout as sleep } from 'node:timers/promises'
import { isForAll } from '../../context.ts'
import type { Context } from '../../contract.ts'
import { statusText } from '../../text/status-text.ts'

export async function run(context: Context): Promise<number> {
  if (isForAll(context)) return await (await import('../../fleet/run.ts')).statusOfAll(context)
  const { client, json, options, commandLine } = context
  for (;;) {
    const snapshot = await client.snapshot()
    context.out(json ? JSON.stringify(snapshot) : statusText(snapshot, commandLine).join('\n'))
    if (options.watch !== true) return 0
    await sleep(2000)
    if (!json) context.out('')
  }
}
