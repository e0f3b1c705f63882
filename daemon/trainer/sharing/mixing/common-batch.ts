// The common-batch rule: a peer's groups count in the batch as own groups do, with its author's standing.
//
// A dishonest author is bounded twice. Its gradient may be as long as that many own terms would make it, with a
// margin. And the gradients of all newcomers together are at most NEWCOMERS times as long as the own one: noise of
// that length takes 8 % off a step.

import { oneBatch } from './one-batch.ts'

/** Margin on the length of an author's gradient. */
const MARGIN = 1.5
const NEWCOMERS = Math.SQRT2 - 1

export const commonBatch = oneBatch({
  summary: 'one batch, in which peers count by their standing',
  scale({ part, own }) {
    const share = part.count / own.count
    // Without signal, a sum grows with the root of its terms; without noise, with their number.
    const limit = (MARGIN * own.gradientNorm * Math.max(share, Math.sqrt(share))) / share
    return part.gradientNorm > limit ? limit / part.gradientNorm : 1
  },
  scaleOfNewcomers: (length) => (length > NEWCOMERS ? NEWCOMERS / length : 1),
})
