// What a home keeps for each model that was trained in it. Checkpoints and curves are kept for every lineage. Groups that
// wait to be trained on belong to one: another model has other tokens and other versions.

import type { Database } from '../../store/database/database.ts'
import { adoptSeries, createStepSeries, type StepSeries } from '../../store/database/records.ts'
import type { Pool } from '../../store/pool/pool.ts'

const KEY = 'lineage'

/**
 * Opens the curves of a lineage, and empties the pool if its groups belong to another one. `newest` is the lineage of
 * the home's newest checkpoint: homes of older versions do not record their lineage.
 */
export async function enterLineage(
  { lineage, newest = lineage }: { lineage: string; newest?: string | undefined },
  { database, pool }: { database: Database; pool: Pick<Pool, 'evict'> },
): Promise<{ steps: StepSeries; evaluations: StepSeries }> {
  const state = database.namespace('state')
  const stored = await state.get(KEY)
  const before = stored ? Buffer.from(stored).toString() : newest
  for (const name of ['step', 'eval']) await adoptSeries({ name, lineage: before }, { database })
  if (before !== lineage) pool.evict(() => true)
  if (stored === undefined || before !== lineage) await state.put(KEY, Buffer.from(lineage))
  const open = (name: string): StepSeries => createStepSeries({ name, lineage }, { database })
  return { steps: open('step'), evaluations: open('eval') }
}

/** Ends the curves where the weights are now: at the restored step, or before the first one. */
export async function cutCurves(
  restored: { version: number } | undefined,
  curves: readonly Pick<StepSeries, 'truncate'>[],
): Promise<void> {
  for (const curve of curves) await curve.truncate(restored ? restored.version + 1 : 0)
}
