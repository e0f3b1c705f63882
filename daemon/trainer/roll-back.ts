// Rolls back to an earlier checkpoint when a guard finds that recent training did harm. Foreign groups are then paused
// for a while, and for longer after repeated roll-backs. Having been in the last batches is no proof against a peer;
// otherwise an attacker could make a node drop its honest peers. Only authors whose own groups seem harmful are set
// aside. The evidence about peers is kept: see sharing/evidence.ts.

import type { Alarm, Guards } from './guards/index.ts'
import type { Authors } from './sharing/authors.ts'
import type { Judge } from './sharing/judge.ts'

interface RollBackPlan {
  restored: boolean
  /** Authors that were set aside. */
  authors: string[]
  message: string
}

interface RollBacks {
  /** Records the authors of the foreign groups that a batch trained on. */
  batch(authors: readonly string[]): void
  /** Undefined if the last roll-back is too recent. */
  handle(alarm: Alarm, version: number): Promise<RollBackPlan | undefined>
}

/** Number of recent batches whose authors are suspects. */
const BATCHES = 8
/** Versions that a guard may need to notice harm. Newer checkpoints may already contain the harm. */
const LAG = 20
/** Updates without foreign groups after a roll-back. */
const COOL_DOWN = 20
/** Minimum number of versions between roll-backs, to avoid a loop. */
const MIN_APART = 30
/** After MANY roll-backs within WITHIN versions, foreign groups are paused for WITHIN updates. */
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

    async handle({ message: why, goodAt }, version) {
      if (times.some((time) => version - time < MIN_APART)) return undefined
      const suspects = [...new Set(batches.flat())].filter(authors.isSuspect)
      for (const author of suspects)
        authors.setAside(author, `its groups worked against this node's own before a roll-back: ${why}`)
      batches = []
      const restored = await restore(Math.min(goodAt ?? version, version - LAG))
      guards.reset()
      times = [...times.filter((time) => version - time < WITHIN), version]
      const alone = times.length >= MANY
      judge.coolDown(alone ? WITHIN : COOL_DOWN)
      const what = restored
        ? `went back to the checkpoint of step ${restored.step}`
        : 'there is no checkpoint to go back to'
      const then = alone
        ? `roll-back number ${times.length}, so it trains without foreign groups for ${WITHIN} updates`
        : `it trains without foreign groups for ${COOL_DOWN} updates`
      return { restored: restored !== undefined, authors: suspects, message: `${why}: ${what}; ${then}` }
    },
  }
}
