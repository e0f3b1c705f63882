// A node's status in one line, for logs and services. Unknown values are left out.

import {
  type AgentsInfo,
  accuracyText,
  bandText,
  count,
  decimal,
  nextText,
  percent,
  recipeStanding,
  type Snapshot,
  si,
  type TrainingInfo,
} from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'

export function statusLine(now: Snapshot): string {
  const { training, rollouts, swarm, agents } = now
  const word = now.state.charAt(0) + now.state.slice(1).toLowerCase()
  const held = now.evaluations?.at(-1)
  const parts = [
    word.padEnd(10),
    now.detail && safeText(now.detail, { line: true, limit: 160 }),
    training && `step ${count(training.step)}`,
    now.state === 'GENERATING' && training && nextBatch(training, agents),
    training?.reward !== undefined && `reward ${decimal(training.reward)}`,
    held && `held-out ${accuracyText(held.accuracy, held.prompts)}${expected(now)}`,
    rollouts?.signalShare !== undefined && `signal ${percent(rollouts.signalShare, 0)}`,
    swarm?.enabled && `peers ${swarm.connected}`,
    rollouts &&
      rollouts.received > 0 &&
      `in ${count(rollouts.received)} used ${count(rollouts.trainedForeign)}`,
    rollouts && rollouts.published > 0 && `out ${count(rollouts.published)}`,
    training?.generateTokensPerSecond !== undefined &&
      `writes ${si(training.generateTokensPerSecond)} tokens/s`,
  ]
  return parts.filter(Boolean).join(' - ')
}

/** What runs of the recipe had at this step, where there is something to compare. */
function expected(now: Snapshot): string {
  const band = recipeStanding(now)?.band
  return band ? `, expected ${bandText(band)}` : ''
}

/** Progress towards the next step. */
function nextBatch({ step, next }: TrainingInfo, agents: AgentsInfo | undefined): string | undefined {
  if (next?.waiting === 0 && agents?.listen !== undefined && agents.open === 0)
    return `waits for agents at ${agents.listen}`
  return next && nextText(next, step)
}
