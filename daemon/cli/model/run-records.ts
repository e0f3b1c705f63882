// The training record of a home, for the card of an exported model: its first and last held-out evaluation, and the
// numbers of own and foreign groups.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Evaluation, Event } from '../../../protocol/api/index.ts'
import { listRuns } from '../../control/journal/run-file.ts'
import type { CardEvaluation } from '../../policy/export/model-card.ts'
import type { CheckpointHere } from './manifests.ts'

export interface Records {
  first?: CardEvaluation
  last?: CardEvaluation
  own?: number
  foreign?: number
}

/**
 * Uses evaluations of this lineage up to the checkpoint's step; for each step, the newest one. The checkpoint has the
 * first one and the newest before it was saved; the runs have later ones.
 */
export function recordsOf({ runs }: { runs: string }, checkpoint: CheckpointHere): Records {
  const found = [...(checkpoint.evaluations ?? []), ...evaluationsIn(runs, checkpoint)]
  const byStep = new Map<number, Evaluation>()
  for (const one of found) {
    const known = byStep.get(one.step)
    if (one.step <= checkpoint.step && (known === undefined || one.time >= known.time))
      byStep.set(one.step, one)
  }
  const sorted = [...byStep.values()].sort((a, b) => a.step - b.step)
  const [first, last] = [sorted[0], sorted.at(-1)]
  return {
    ...(first ? { first: cardEvaluation(first) } : {}),
    ...(last ? { last: cardEvaluation(last) } : {}),
    ...countersOf(checkpoint),
  }
}

const cardEvaluation = ({ step, prompts, accuracy, tasks, greedy }: Evaluation): CardEvaluation => ({
  ...{ step, prompts, accuracy, tasks },
  greedy: greedy?.accuracy,
})

/**
 * The evaluations of all runs that are in the checkpoint's past. Where the policy went back to an earlier step, those of
 * the steps that were lost are left out.
 */
function evaluationsIn(runs: string, checkpoint: CheckpointHere): Evaluation[] {
  let found: Evaluation[] = []
  for (const file of listRuns(runs).reverse()) {
    for (const event of eventsIn(file, checkpoint)) {
      if (event.type === 'eval') {
        found.push(event)
        continue
      }
      const step = event.snapshot.model?.policy.version
      if (step === undefined) continue
      // The policy left the checkpoint behind: what follows is another past.
      if (event.time > checkpoint.savedAt && step < checkpoint.step) return found
      found = found.filter((one) => one.step <= step)
    }
  }
  return found
}

type Recorded = Extract<Event, { type: 'eval' | 'snapshot' }>

/** None if the run was of another lineage. */
function eventsIn(file: string, { lineage }: CheckpointHere): Recorded[] {
  const found: Recorded[] = []
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (!line.includes('"eval"') && !line.includes('"snapshot"')) continue
    try {
      const event = JSON.parse(line) as Event
      if (event.type !== 'snapshot' && event.type !== 'eval') continue
      if (event.type === 'snapshot' && (event.snapshot.model?.policy.lineage ?? lineage) !== lineage)
        return []
      found.push(event)
    } catch {
      // A crash can leave an incomplete line.
    }
  }
  return found
}

function countersOf({ folder }: CheckpointHere): { own?: number; foreign?: number } {
  try {
    const { trainedOn, counters } = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'))
    // Older checkpoints have both among the counters.
    const { own, foreign } = trainedOn ?? { own: counters.trainedOwn, foreign: counters.trainedForeign }
    return typeof own === 'number' && typeof foreign === 'number' ? { own, foreign } : {}
  } catch {
    return {}
  }
}
