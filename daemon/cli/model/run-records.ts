// The training record of a home, for the card of an exported model: its first and last held-out evaluation, and the
// numbers of own and foreign groups.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../../protocol/api/index.ts'
import { listRuns } from '../../control/journal/run-file.ts'
import type { CardEvaluation } from '../../policy/export/model-card.ts'
import type { CheckpointHere } from './manifests.ts'

export interface Records {
  first?: CardEvaluation
  last?: CardEvaluation
  own?: number
  foreign?: number
}

/** Uses evaluations up to the checkpoint's step; for each step, the newest one. */
export function recordsOf({ runs }: { runs: string }, checkpoint: CheckpointHere): Records {
  const evaluations = new Map<number, CardEvaluation>()
  for (const file of listRuns(runs).reverse()) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (!line.includes('"eval"')) continue
      try {
        const event = JSON.parse(line) as Event
        if (event.type !== 'eval' || event.step > checkpoint.step) continue
        const { step, prompts, accuracy, tasks, greedy } = event
        evaluations.set(step, { step, prompts, accuracy, tasks, greedy: greedy?.accuracy })
      } catch {
        // A crash can leave an incomplete line.
      }
    }
  }
  const sorted = [...evaluations.values()].sort((a, b) => a.step - b.step)
  const [first, last] = [sorted[0], sorted.at(-1)]
  return { ...(first ? { first } : {}), ...(last ? { last } : {}), ...countersOf(checkpoint) }
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
