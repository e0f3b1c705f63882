// What a node does, in one word.

export const STATES = [
  'STARTING',
  'GENERATING',
  'TRAINING',
  'EVALUATING',
  'SAVING',
  /** A relay, which does not train. */
  'RELAYING',
  /** Paused by the user. */
  'PAUSED',
  /** Held back by its limits; see LimitsInfo. */
  'WAITING',
  'DEGRADED',
  'STOPPING',
] as const

export type StateWord = (typeof STATES)[number]
