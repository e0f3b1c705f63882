// What is recorded of an update.

import { expect, test } from 'vitest'
import { createStepRecorder, type RecordedStep } from '../../../daemon/trainer/audit/recording.ts'
import { layoutOf } from '../../../daemon/trainer/heads/vector.ts'
import type { UpdateOptions, UpdateReport } from '../../../daemon/trainer/update.ts'
import { randomWeights, SPEC } from '../../engine/model.ts'

test('a step begins where an update that failed half way has left the weights', async () => {
  let steps = 0
  const kept: RecordedStep[] = []
  const recorder = createStepRecorder(
    { layout: layoutOf(SPEC) },
    {
      trainer: {
        info: { device: 'cpu' } as never,
        weights: async () => randomWeights(SPEC, steps),
        optimizer: async () => ({ steps, first: randomWeights(SPEC, 1), second: randomWeights(SPEC, 2) }),
      },
      keep: async (step) => void kept.push(step),
      onTrouble(error) {
        throw error
      },
    },
  )
  const update = (minibatches: number, isFailing = false): Promise<UpdateReport> =>
    recorder.record(
      {
        ...{ groups: [], random: () => 0, closed: 'a reason' },
        options: { version: 0, self: 'me', minibatches: 1 } as UpdateOptions,
        // The first update has raised it; one that failed does not.
        changes: Math.min(1, kept.length),
      },
      async () => {
        steps += minibatches
        if (isFailing) throw new Error('the engine failed')
        return { steps: minibatches } as UpdateReport
      },
    )
  await update(1)
  await expect(update(2, true)).rejects.toThrow('the engine failed')
  await update(1)
  expect(kept.map(({ before, after }) => [before.steps, after.steps])).toEqual([
    [0, 1],
    [3, 4],
  ])
})
