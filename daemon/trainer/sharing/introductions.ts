// How a node gets to know its peers before it trains on their groups. A peer introduces itself with groups without a
// signal. This node scores their tokens to find out whose policy is like its own, and never trains on them.

import type { Random } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import type { Engine } from '../../engine/engine.ts'
import { evidenceIn } from '../watch.ts'
import type { Authors } from './authors.ts'

export interface IntroductionsOptions {
  /** Temperature of the policy that scores the tokens. */
  temperature: number
}

export interface IntroductionsParts {
  engine: Pick<Engine, 'score'>
  authors: Pick<Authors, 'meet'>
  /** Whether nothing is known yet about this peer's policy. */
  isUnknown(author: string): boolean
  /** The groups that an engine can score. */
  scorable(groups: readonly Group[]): Group[]
  random(stream: string): Random
  onFinding(finding: { guard: string; message: string; peers: string[] }): void
}

export interface Introductions {
  /** Takes a verified group. False if it is not needed: the author is known, or enough groups wait. */
  add(group: Group): boolean
  /** Scores waiting groups. Call it while nothing else uses the engine. */
  meet(): Promise<void>
}

/** Maximum number of groups that wait to be scored, in all and per author. */
const MOST = { waiting: 64, ofOne: 4 }
/** Maximum number of groups scored in one call of `meet`. */
const AT_ONCE = 16

export function createIntroductions(
  { temperature }: IntroductionsOptions,
  { engine, authors, isUnknown, scorable, random, onFinding }: IntroductionsParts,
): Introductions {
  /** Oldest first. */
  const waiting: Group[] = []
  let calls = 0

  return {
    add(group) {
      if (!isUnknown(group.author)) return false
      const ofAuthor = waiting.filter(({ author }) => author === group.author).length
      if (waiting.length >= MOST.waiting || ofAuthor >= MOST.ofOne) return false
      waiting.push(group)
      return true
    },

    async meet() {
      const groups = scorable(waiting.splice(0, AT_ONCE).filter(({ author }) => isUnknown(author)))
      if (groups.length === 0) return
      const sequences = groups.flatMap(({ conditioning, rollouts }) =>
        rollouts.map(({ tokens }) => ({ conditioning, completion: tokens })),
      )
      const scores = await engine.score({ sequences, temperature, places: true })
      const uniform = random(`introductions/${calls++}`)
      let from = 0
      for (const { author, rollouts } of groups) {
        const own = scores.slice(from, from + rollouts.length)
        from += rollouts.length
        for (const { kind, reason } of authors.meet(author, evidenceIn(rollouts, own, uniform)))
          onFinding({ guard: kind, message: reason, peers: [author] })
      }
    },
  }
}
