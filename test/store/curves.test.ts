// Where the curves of a home end when a node begins.

import { expect, test } from 'vitest'
import { cutCurves, enterLineage } from '../../daemon/node/home/lineage.ts'
import { createVolatileDatabase } from '../../daemon/store/database/volatile-database.ts'

/** The steps on the curves of a home that was killed at step 3, when it goes on from this checkpoint. */
async function stepsAfter(restored: { version: number } | undefined): Promise<number[][]> {
  const { steps, evaluations } = await enterLineage(
    { lineage: 'a' },
    { database: createVolatileDatabase(), pool: { evict: () => 0 } },
  )
  for (const curve of [steps, evaluations])
    for (let step = 0; step <= 3; step++) curve.append(step, { reward: step })
  await cutCurves(restored, [steps, evaluations])
  const left = await Promise.all([steps, evaluations].map((curve) => curve.newest(9)))
  return left.map((records) => records.map(({ step }) => step))
}

test('curves end with the step that a node goes on from', async () => {
  expect(await stepsAfter({ version: 2 })).toEqual([
    [0, 1, 2],
    [0, 1, 2],
  ])
})

test('a node that begins anew, because no checkpoint is left, has no curves of the run before', async () => {
  expect(await stepsAfter(undefined)).toEqual([[], []])
})
