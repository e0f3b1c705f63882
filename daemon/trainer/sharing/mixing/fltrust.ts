// FLTrust (Cao et al. 2021, arXiv:2012.13995): an author's gradient is rescaled to the norm of the own gradient and
// weighted by its cosine with the own direction; a negative cosine gives 0.
//
// Here the own direction is the compass, not the own gradient of this batch: two gradients of a few groups are nearly
// orthogonal, whoever computes them. The own gradient is part of the mean; in the paper, the server's gradient only
// judges.

import { oneBatch } from './one-batch.ts'

export const fltrust = oneBatch({
  summary: 'one batch, in which peers count by their agreement with the own direction',
  async scale({ part, own, direction }, slot, { optimizer: { beta2, epsilon } }, trainer) {
    if (direction === undefined || !(part.gradientNorm > 0)) return 0
    const metric = { beta2, epsilon }
    const along = await trainer.dot({ a: slot, b: direction, metric })
    const lengths = Math.sqrt(
      (await trainer.dot({ a: slot, b: slot, metric })) *
        (await trainer.dot({ a: direction, b: direction, metric })),
    )
    const cosine = lengths > 0 ? along / lengths : 0
    return (Math.max(0, cosine) * own.gradientNorm) / part.gradientNorm
  },
})
