// waggle plugins: the plugins of the running node, their cost, and which were switched off and why.

import { decimal } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'
import { tableText } from '../text/table-text.ts'

export async function running(context: Context): Promise<number> {
  const { plugins = [] } = await context.client.snapshot()
  if (context.json) {
    context.out(JSON.stringify({ v: 1, plugins }))
    return 0
  }
  const rows = plugins.map(({ kind, name, state, msPerStep, message, summary }) => [
    safeText(kind),
    safeText(name, { line: true }),
    state,
    decimal(msPerStep, 1),
    safeText(message ?? summary ?? '', { line: true, limit: 100 }),
  ])
  for (const line of tableText(['KIND', 'NAME', 'STATE', 'ms/step', 'WHAT'], rows)) context.out(line)
  for (const { name, doing = [] } of plugins)
    for (const line of doing) context.out(safeText(`${name}: ${line}`, { line: true, limit: 160 }))
  return 0
}
