// The running mean of own gradients. It gives the direction of this node's own rollouts over about the last
// twenty updates, with less noise than any single one.

import type { Metric, VectorName } from '../../../engine/engine.ts'
import type { MixingTrainer, PartReport } from './part.ts'

export const OWN_MEAN: VectorName = 'own-mean'
/** The running mean of what foreign gradients added to the steps. */
export const FOREIGN_MEAN: VectorName = 'foreign-mean'
/** Decay of both running means, which cover about 1 / (1 − DECAY) updates. */
const DECAY = 0.95

/**
 * Components of a gradient along the mean of own ones and, in the same unit, along the mean foreign step. Empty while
 * there is no mean.
 */
export async function compared(
  vector: VectorName,
  { held, metric }: { held: ReadonlySet<VectorName>; metric: Metric },
  trainer: MixingTrainer,
): Promise<Pick<PartReport, 'alongOwn' | 'alongForeign'>> {
  if (!held.has(OWN_MEAN)) return {}
  const within = await trainer.dot({ a: OWN_MEAN, b: OWN_MEAN, metric })
  if (!(within > 0)) return {}
  const unit = Math.sqrt(within)
  const alongOwn = (await trainer.dot({ a: vector, b: OWN_MEAN, metric })) / unit
  if (!held.has(FOREIGN_MEAN)) return { alongOwn }
  return { alongOwn, alongForeign: (await trainer.dot({ a: vector, b: FOREIGN_MEAN, metric })) / unit }
}

/** Moves a running mean towards factor · `by`, or starts it there. */
export function moveMean(
  mean: VectorName,
  { by, factor = 1, held }: { by: VectorName; factor?: number; held: ReadonlySet<VectorName> },
  trainer: MixingTrainer,
): Promise<void> {
  const terms = held.has(mean)
    ? [
        { vector: mean, factor: DECAY },
        { vector: by, factor: (1 - DECAY) * factor },
      ]
    : [{ vector: by, factor }]
  return trainer.combine({ into: mean, terms })
}
