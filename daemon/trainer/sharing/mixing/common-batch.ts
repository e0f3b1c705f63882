// The common-batch rule: a peer's groups count in the batch as own groups do, with its author's standing.
//
// An author's gradient may be as long as that many own terms would make it, with a margin.

import { oneBatch } from './one-batch.ts'

/** Margin on the length of an author's gradient. */
const MARGIN = 1.5

export const commonBatch = oneBatch({
  summary: 'one batch, in which peers count by their standing',
  scale({ part, own }) {
    const share = part.count / own.count
    // Without signal, a sum grows with the root of its terms; without noise, with their number.
    const limit = (MARGIN * own.gradientNorm * Math.max(share, Math.sqrt(share))) / share
    return part.gradientNorm > limit ? limit / part.gradientNorm : 1
  },
})
