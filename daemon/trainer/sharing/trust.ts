// Weights a source of foreign gradients by its evidence so far, without waiting for a verdict.
//
// The weight is the source's progress relative to own progress, for the same compute, over all updates so
// far. A verdict with a confidence interval takes some hundred updates. The weight reacts at once: it starts
// at one half, and after twenty updates in which all peers brought nothing, theirs is a sixth. To damp the
// noise of few updates, the estimate starts from a number of imagined updates with the progress expected of
// the source (shrinkage, as in empirical Bayes).

export interface Trust {
  /** Decayed sums of foreign and own progress in the same updates, in the judge's unit. */
  foreign: number
  own: number
}

/** Typical own progress per update in the judge's unit; 0.2 to 0.5 were measured. */
const TYPICAL = 0.3
/** Decay per update: the past fades over about a hundred updates, because the policy and its peers change. */
const FADE = 0.99

/** Progress expected of a stranger, as a share of own progress. */
export const STRANGER = 0.5

export const noTrust = (): Trust => ({ foreign: 0, own: 0 })

export function addTrust(trust: Trust, foreign: number, own: number): void {
  trust.foreign = FADE * trust.foreign + foreign
  trust.own = FADE * trust.own + own
}

/** Weight from 0 to 1. The prior `expected` counts as many updates as `updates` says. */
export function weightOf({ foreign, own }: Trust, expected: number, updates: number): number {
  const before = updates * TYPICAL
  return Math.max(0, Math.min(1, (before * expected + foreign) / (before + Math.max(0, own))))
}
