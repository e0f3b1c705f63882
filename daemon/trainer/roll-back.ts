// Going back to the last good checkpoint when a guard says that what was learnt lately is bad: who wrote the last batches
// is set aside, nothing foreign is learnt from for a while, and a run that keeps falling goes on alone. What is known of peers
// stays as it is: see sharing/evidence.ts.

import type { Alarm, Guards } from './guards/index.ts'
import type { Authors } from './sharing/authors.ts'
import type { Judge } from './sharing/judge.ts'

export interface RollBackPlan {
  restored: boolean
  authors: string[]
  message: string
}

export interface RollBacks {
  /** Authors of the foreign groups that a batch learnt from. */
  batch(authors: readonly string[]): void
  /** Undefined if the last one is too recent for another. */
  handle(alarm: Alarm, version: number): Promise<RollBackPlan | undefined>
}

/** Batches whose authors are set aside. */
const BATCHES = 8
/** A guard needs some steps to notice: a checkpoint that is younger may hold the damage. */
const LAG = 20
/** Updates without foreign groups after it. */
const COOL_DOWN = 20
/** Versions between two of them at least; more often would be a loop. */
const LEAST_APART = 30
/** After so many within so many versions, the node goes on alone. */
const MANY = 3
const WITHIN = 500

export function createRollBacks({
  authors,
  judge,
  guards,
  restore,
}: {
  authors: Authors
  judge: Judge
  guards: Guards
  restore(before: number): Promise<{ step: number } | undefined>
}): RollBacks {
  let batches: string[][] = []
  let times: number[] = []

  return {
    batch(names) {
      batches = [...batches, [...new Set(names)]].slice(-BATCHES)
    },

    async handle({ message: why }, version) {
      if (times.some((time) => version - time < LEAST_APART)) return undefined
      const suspects = [...new Set(batches.flat())]
      for (const author of suspects)
        authors.setAside(author, `wrote for the batches before a roll-back: ${why}`)
      batches = []
      const restored = await restore(version - LAG)
      guards.reset()
      times = [...times.filter((time) => version - time < WITHIN), version]
      const alone = times.length >= MANY
      judge.coolDown(alone ? WITHIN : COOL_DOWN)
      const what = restored
        ? `went back to the checkpoint of step ${restored.step}`
        : 'there is no checkpoint to go back to'
      const then = alone
        ? `the ${times.length}. time, so it goes on alone for ${WITHIN} updates`
        : 'goes on alone for a while'
      return { restored: restored !== undefined, authors: suspects, message: `${why}: ${what}; ${then}` }
    },
  }
}
