// What a running node does on a signal that does not end it: SIGHUP reads the config again, SIGUSR2 writes a diagnostic
// report. Both say what came of it; neither can bring the node down.

import { safeText } from '../../protocol/text.ts'
import type { NodeHandle } from '../control/node.ts'
import type { Context } from './context.ts'
import { writeReport } from './diagnostic-report.ts'
import { reconfiguredText } from './reconfigured-text.ts'

export async function answerSignal(
  signal: 'SIGHUP' | 'SIGUSR2',
  context: Context,
  node: NodeHandle,
): Promise<void> {
  try {
    if (signal === 'SIGHUP') {
      const lines = reconfiguredText(await node.reconfigure({}))
      for (const line of ['read the config again', ...lines.map((text) => `  ${text}`)]) context.say(line)
    } else context.say(`wrote a diagnostic report: ${writeReport(context, node)}`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const what = signal === 'SIGHUP' ? 'the config was not taken on, nothing changed' : 'no diagnostic report'
    context.say(`error: ${what}: ${safeText(message, { limit: 4000 })}`)
  }
}
