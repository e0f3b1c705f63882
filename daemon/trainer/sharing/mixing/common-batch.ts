// The common-batch rule: a peer's groups count in the batch like own groups, weighted by the author's standing.
//
// An author's gradient may be as long as one from the same number of own terms, with a margin.

import { oneBatch } from './one-batch.ts'

/** Margin on the norm of an author's gradient. */
const MARGIN = 1.5

export const commonBatch = oneBatch({
  summary: 'one batch, in which peers count by their standing',
  scale({ part, own }) {
    const share = part.count / own.count
    // The norm of a sum grows with the square root of its number of terms if they are pure noise, and with the number
    // of terms if they are pure signal.
    const limit = (MARGIN * own.gradientNorm * Math.max(share, Math.sqrt(share))) / share
    return part.gradientNorm > limit ? limit / part.gradientNorm : 1
  },
})
