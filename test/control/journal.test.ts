import { expect, test } from 'vitest'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJournal, type Journal } from '../../daemon/control/journal/journal.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'
import { summarize } from '../../daemon/trainer/watch.ts'

async function journal() {
  const now = () => 0
  const kept: [step: number, loss: number][] = []
  const none = { newest: async () => [] }
  const steps = {
    ...none,
    append: (step: number, { loss }: { loss: number }) => void kept.push([step, loss]),
  }
  type Parts = Parameters<typeof createJournal>[1]
  const parts = {
    ...{ events: createEventLog({}, { clock: now }), now, trainedOn: createTrainedOn({ now }) },
    ...{ steps, evaluations: none, showcase: {} },
  } as unknown as Parts
  return { kept, journal: await createJournal({ learningRate: () => 1e-3, logFile: '' }, parts) }
}

const updateOf = (step: number, steps: number, loss: number) =>
  ({
    ...summarize([]),
    ...{ step, steps, loss, skipped: [], gradientNorm: 1, parts: [], pluginMetrics: {} },
    ...{ own: 1, foreign: 0, trainedOn: { own: 1, foreign: {} }, seconds: 1, waitSeconds: 0, ages: [] },
  }) as unknown as Parameters<Journal['step']>[0]

test('an update that is not taken leaves the record of the step before', async () => {
  const { kept, journal: told } = await journal()
  told.step(updateOf(1, 1, 0.5))
  told.step(updateOf(1, 0, Number.NaN))
  told.step(updateOf(2, 1, 0.25))
  expect(kept).toEqual([
    [1, 0.5],
    [2, 0.25],
  ])
})
