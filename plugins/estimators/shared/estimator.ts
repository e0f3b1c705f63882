// What the built-in estimators are defined with.

export { defineEstimator } from '../../../protocol/plugin/index.ts'

/** Manifest of an estimator that also learns from groups whose rewards are all equal. */
export const LEARNS_FROM_TIES = {
  signal: 'any',
  conflicts: [{ with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' }],
} as const
