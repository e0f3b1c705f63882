// How a node gets to know its peers before it trains on their groups. A peer introduces itself with groups without a
// signal. This node scores their tokens to find out whose policy is like its own, and never trains on them.
//
// Identities are free, so neither the number of authors nor their groups bound the work. The tokens that are scored are
// a share of those that this node generates itself, and the peers that deliver groups take turns, as in a batch
// (batch.ts): a crowd of authors behind one peer leaves the groups that other peers deliver their places.

import { FairQueue } from '../../../protocol/fair-queue.ts'
import type { Random } from '../../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import type { Engine } from '../../engine/engine.ts'
import { type PromptMix, tokensIn } from '../batch/prompt-mix.ts'
import { evidenceIn } from '../watch.ts'
import type { Authors } from './authors.ts'

interface IntroductionsOptions {
  /** Temperature of the policy that scores the tokens. */
  temperature: number
}

interface IntroductionsParts {
  engine: Pick<Engine, 'score'>
  authors: Pick<Authors, 'addTokens'>
  /** Mean tokens of an own group. */
  mix: Pick<PromptMix, 'tokens'>
  /** Whether nothing is known yet about this peer's policy. */
  isUnknown(author: string): boolean
  /** The groups that an engine can score. */
  scorable(groups: readonly Group[]): Group[]
  random(stream: string): Random
  onFinding(finding: { guard: string; message: string; peers: string[] }): void
}

interface Introductions {
  /** Takes a verified group. False if it is not needed: the author is known, or enough of its groups wait. */
  add(group: Group): boolean
  /** This node has generated a group; a share of its tokens may be spent on introductions. */
  earn(group: Group): void
  /** Scores waiting groups. Call it while nothing else uses the engine. */
  scoreWaiting(): Promise<void>
}

/** Maximum number of groups that wait to be scored, in all and per author. */
const MAX = { waiting: 64, ofOne: 4 }
/**
 * Tokens to score for each token of an own group. Scoring takes one pass, and an own token a pass to sample it and three
 * to train on it.
 */
const SHARE = 1 / 4
/** Most tokens that may be saved up, in own groups: when the first peer comes, it is known after one step. */
const SAVED = 16

export function createIntroductions(
  { temperature }: IntroductionsOptions,
  { engine, authors, mix, isUnknown, scorable, random, onFinding }: IntroductionsParts,
): Introductions {
  /** By the peer that delivered them. */
  const waiting = new FairQueue<Group>({ items: MAX.waiting, first: 'oldest' })
  /** Tokens that may be scored now; below 0 after a group that was longer than what was left. */
  let budget = 0
  let calls = 0

  /** As many of its rollouts as an own group has tokens, and at least one. */
  const shortened = (group: Group): Group => {
    let left = Math.min(budget, mix.tokens ?? 0)
    const rollouts = group.rollouts.filter((rollout, i) => {
      const fits = i === 0 || left > 0
      left -= tokensIn({ ...group, rollouts: [rollout] })
      return fits
    })
    return { ...group, rollouts }
  }

  const chosen = (): Group[] => {
    const groups: Group[] = []
    while (budget > 0) {
      const group = waiting.take()
      if (!group) break
      if (!isUnknown(group.author)) continue
      const [short] = scorable([shortened(group)])
      if (!short) continue
      budget -= tokensIn(short)
      groups.push(short)
    }
    return groups
  }

  return {
    add(group) {
      if (!isUnknown(group.author)) return false
      const { author, source = author } = group
      if ([...waiting].filter((one) => one.author === author).length >= MAX.ofOne) return false
      waiting.push(source, group)
      return true
    },

    earn(group) {
      budget = Math.min(budget + SHARE * tokensIn(group), SAVED * (mix.tokens ?? 0))
    },

    async scoreWaiting() {
      const groups = chosen()
      if (groups.length === 0) return
      const sequences = groups.flatMap(({ conditioning, rollouts }) =>
        rollouts.map((one: Rollout) => ({
          conditioning: one.conditioning ?? conditioning,
          completion: one.tokens,
        })),
      )
      const scores = await engine.score({ sequences, temperature, pit: true })
      const uniform = random(`introductions/${calls++}`)
      let from = 0
      for (const { author, rollouts } of groups) {
        const own = scores.slice(from, from + rollouts.length)
        from += rollouts.length
        for (const { kind, reason } of authors.addTokens(author, evidenceIn(rollouts, own, uniform)))
          onFinding({ guard: kind, message: reason, peers: [author] })
      }
    },
  }
}
