// Signals that do not stop a node: SIGHUP rereads the config, SIGUSR2 writes a diagnostic report. Both print the
// result; a failure does not stop the node.

import { safeText } from '../../../protocol/text.ts'
import type { NodeHandle } from '../../control/node/node.ts'
import type { Context } from '../contract.ts'
import { reconfiguredText } from '../text/reconfigured-text.ts'
import { writeReport } from './diagnostic-report.ts'

export async function answerSignal(
  signal: 'SIGHUP' | 'SIGUSR2',
  context: Context,
  node: NodeHandle,
): Promise<void> {
  try {
    if (signal === 'SIGHUP') {
      const lines = reconfiguredText(await node.reconfigure({}))
      for (const line of ['reloaded the config', ...lines.map((text) => `  ${text}`)]) context.say(line)
    } else context.say(`wrote a diagnostic report: ${writeReport(context, node)}`)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const what =
      signal === 'SIGHUP'
        ? 'the config was not reloaded and nothing changed'
        : 'cannot write a diagnostic report'
    context.say(`error: ${what}: ${safeText(message, { limit: 4000 })}`)
  }
}
