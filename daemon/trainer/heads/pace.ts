// How far a node's own steps lead from one of its heads to the next, and when a head is due.

import { addDifference, distance, type Vector } from './vector.ts'

export interface Pace {
  /** See HeadExchange. */
  isDue(version: number): boolean
  wrote(): void
  /** This node's version at its newest head; undefined before the first. */
  readonly madeAt: number | undefined
  /** How far own steps lead from one head to the next; 0 before the first ones. */
  readonly movement: number
  /** The same, or how far they could lead. */
  readonly reach: number
  /**
   * A head is made of these weights. Gives what they would be without the steps since the head before, but with all that
   * was joined since; undefined if there was none.
   */
  made(now: { version: number; weights: Vector }): Vector | undefined
  /** Peers' heads have changed the weights, which is no step of this node's own. */
  joined(weights: { before: Vector; after: Vector }): void
  reset(): void
}

/** `every`: optimizer steps between two heads. `values`: of the weights. */
export function createPace({
  every,
  values,
  learningRate,
  batchGroups,
}: {
  every: number
  values: number
  learningRate(): number
  batchGroups(): number
}): Pace {
  let madeAt: number | undefined
  /** A copy of the weights at the last head, with all that was joined since. */
  let from: Vector | undefined
  let movement = 0
  /** Since the last head. */
  let groups = 0
  return {
    // With steps of its own, a node goes by these: what forgers may move it is bounded by how far its own lead.
    isDue: (version) =>
      madeAt === undefined ||
      (movement > 0 ? version >= madeAt + every : version > madeAt || groups >= every * batchGroups()),
    wrote() {
      groups++
    },
    get madeAt() {
      return madeAt
    },
    get movement() {
      return movement
    },
    get reach() {
      // AdamW moves no value by much more than its rate in a step.
      return movement || every * learningRate() * Math.sqrt(values)
    },
    made({ version, weights }) {
      // After fewer or more steps, as far as so many lead in one direction: after more, no farther than such steps on average.
      const times = every / Math.max(1, version - (madeAt ?? version))
      const withoutSteps = from
      movement = (withoutSteps && times * distance(weights, withoutSteps)) || movement
      from = weights.slice()
      madeAt = version
      groups = 0
      return withoutSteps
    },
    joined({ before, after }) {
      if (from) addDifference(from, 1, after, before)
    },
    reset() {
      madeAt = undefined
      from = undefined
    },
  }
}
