// What the recorded runs of a home say about its training, for the card of an exported model: the first and the last
// held-out evaluation, and whose rollouts were trained on.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../../protocol/api/index.ts'
import { listRuns } from '../../control/run-file.ts'
import type { CardEvaluation } from '../../policy/model-card.ts'
import type { CheckpointHere } from './checkpoint.ts'

export interface Records {
  first?: CardEvaluation
  last?: CardEvaluation
  own?: number
  foreign?: number
}

/** Evaluations up to the checkpoint's step; of those at one step, the newest. */
export function recordsOf({ runs }: { runs: string }, checkpoint: CheckpointHere): Records {
  const evaluations = new Map<number, CardEvaluation>()
  for (const file of listRuns(runs).reverse()) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (!line.includes('"eval"')) continue
      try {
        const event = JSON.parse(line) as Event
        if (event.type !== 'eval' || event.step > checkpoint.step) continue
        const { step, prompts, accuracy, tasks } = event
        evaluations.set(step, { step, prompts, accuracy, tasks })
      } catch {
        // A line that a crash cut in half.
      }
    }
  }
  const sorted = [...evaluations.values()].sort((a, b) => a.step - b.step)
  const [first, last] = [sorted[0], sorted.at(-1)]
  return { ...(first ? { first } : {}), ...(last ? { last } : {}), ...countersOf(checkpoint) }
}

function countersOf({ folder }: CheckpointHere): { own?: number; foreign?: number } {
  try {
    const { counters } = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'))
    const { trainedOwn: own, trainedForeign: foreign } = counters as Record<string, unknown>
    return typeof own === 'number' && typeof foreign === 'number' ? { own, foreign } : {}
  } catch {
    return {}
  }
}
