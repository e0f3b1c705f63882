// Records what a policy was trained on and how, in phases: a new one begins with the step before which that changed. The
// record is saved with the weights, since the config of a later start says nothing about them.

import { isDeepStrictEqual } from 'node:util'
import type { TrainingPhase } from '../../../protocol/api/index.ts'
import { MAX_PHASES } from '../../policy/trained.ts'

export type TrainingFacts = Omit<TrainingPhase, 'from' | 'to' | 'workedExamples' | 'steps'>

export interface TrainingRecord {
  /** What made the weights of step 0. */
  begin(phase: TrainingPhase): void
  /** Call after each update, with the step that the weights are of now. One that was not taken leaves it as it was. */
  step(step: number): void
  /** After a roll-back to this step: later steps did not make the weights. */
  goBack(step: number): void
  phases(): TrainingPhase[]
}

/** `phases` are those of the checkpoint that is continued. `facts` is read at each step, since settings may change. */
export function createTrainingRecord(
  { phases: before = [] }: { phases?: readonly TrainingPhase[] | undefined },
  { facts }: { facts(): TrainingFacts },
): TrainingRecord {
  let phases = structuredClone([...before])
  return {
    begin(phase) {
      phases.push(phase)
    },
    step(step) {
      const now = facts()
      const last = phases.at(-1)
      if (last !== undefined && last.to >= step) return
      if (last !== undefined && isSame(last, now)) last.to = step
      else phases.push({ from: step, to: step, ...structuredClone(now) })
      if (phases.length > MAX_PHASES) phases.shift()
    },
    goBack(step) {
      phases = phases
        .filter(({ from }) => from <= step)
        .map((one) => ({ ...one, to: Math.min(one.to, step) }))
    },
    phases: () => structuredClone(phases),
  }
}

function isSame({ from: _from, to: _to, ...facts }: TrainingPhase, now: TrainingFacts): boolean {
  return isDeepStrictEqual(facts, now)
}
