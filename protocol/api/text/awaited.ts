// Why a figure is not known yet.

import { nextTexts, type PhaseName, shorterTexts } from '../phases.ts'
import type { Snapshot } from '../snapshot/index.ts'

/** Why a figure is not known yet, from the longest to the shortest: what it waits for, and how far that is. */
export function awaitedTexts(
  { state, phases = [], training }: Pick<Snapshot, 'state' | 'phases' | 'training'>,
  of: 'step' | 'evaluation' | 'answers',
): [string, ...string[]] {
  const find = (...names: readonly PhaseName[]) =>
    phases.find(({ name }) => names.some((one) => one === name))
  const running =
    state === 'STARTING'
      ? phases[0]
      : of === 'evaluation'
        ? find('evaluate')
        : of === 'answers'
          ? find('write')
          : find('train', 'score', 'hand')
  if (running) return shorterTexts(running)
  if (state === 'STARTING') return ['starting']
  if (of === 'step' && training?.next) return nextTexts(training.next, training.step)
  return [{ step: 'no step yet', evaluation: 'no evaluation yet', answers: 'no answers yet' }[of]]
}
