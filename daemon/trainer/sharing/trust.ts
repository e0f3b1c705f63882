// How much of a step may a source of foreign gradients have, before there is a verdict, and after?
//
// As much as its progress is of the own one, for the same compute, by all that was seen so far. A verdict with an interval takes some
// hundred updates; a weight that follows the evidence needs none: it begins at half, and twenty updates that brought nothing take it to
// a sixth. What an estimate from few updates would swing by is held down by counting a number of updates before the first
// that brought as much as is expected of the source (shrinkage towards what is common, as in empirical Bayes).

export interface Trust {
  /** Of foreign and own groups in the same updates, in the judge's unit, fading. */
  foreign: number
  own: number
}

/** Own progress of an update in the judge's unit, about: 0.2 to 0.5 were measured. */
const TYPICAL = 0.3
/** The past fades over some hundred updates, since a policy in training changes, and peers do. */
const FADE = 0.99

/** What a stranger is expected to bring, of what the own groups bring. */
export const STRANGER = 0.5

export const noTrust = (): Trust => ({ foreign: 0, own: 0 })

export function addTrust(trust: Trust, foreign: number, own: number): void {
  trust.foreign = FADE * trust.foreign + foreign
  trust.own = FADE * trust.own + own
}

/** From 0 to 1. `expected` counts for so many updates before the first. */
export function weightOf({ foreign, own }: Trust, expected: number, updates: number): number {
  const before = updates * TYPICAL
  return Math.max(0, Math.min(1, (before * expected + foreign) / (before + Math.max(0, own))))
}
