// Like R³ (arXiv 2601.19620): replay across contexts, reflection and ranking rewards, from a prompt's second visit
// on.
//
// Reflection is an additional group beside the prompt's own rollouts, if the prompt's past mean reward is
// below `tau`. An all-wrong group is joined by `k` past right rollouts of the prompt, an all-right one by
// wrong ones, regardless of the conditioning that they were sampled under; A = (R - mean) / (alpha std + lambda) over
// the mixed group. Failures are ranked by their entropies. The paper publishes neither code nor constants: `tau`, `k`,
// `share`, `most`, `alpha`, `lambda` and the buffer's bounds are ours. Also ours: the most recent rollouts
// come first, uses are limited, and the formula applies only to groups that were mixed or ranked (all others
// keep the estimator's advantages; with GRPO this is the same). The length bonus is off unless `lengthBonus`
// is set.

import { z } from 'zod'
import { type Advantages, type Context, definePlugin, type RoundView } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, isRight, promptKey, type Rollout } from '../../protocol/train/index.ts'
import { createReplayBuffer } from './kept/buffer.ts'
import { STATE_VERSION } from './kept/saved.ts'
import { canReplay, storedOf } from './kept/stored.ts'
import { createVisits } from './kept/visits.ts'
import { createMixer, mixedAdvantages } from './mixing.ts'
import { entropiesOf, rankRewards, structureOf, winsOf } from './ranking.ts'
import { reflectionOn } from './reflection.ts'

const settings = z.strictObject({
  tau: z.number().min(0).max(1).default(0.25),
  k: z.number().int().positive().default(1),
  /** Share of a response's tokens that count as its entropy peaks. */
  share: z.number().positive().max(1).default(0.2),
  /** Reward of the best failure; below 1, so that no failure beats a success. */
  most: z.number().nonnegative().lt(1).default(0.5),
  alpha: z.number().nonnegative().default(1),
  lambda: z.number().positive().default(1e-6),
  std: z.enum(['sample', 'population']).default('sample'),
  /**
   * Length in tokens at which a right answer's bonus, 1 - length / lengthBonus, reaches 0; null for no bonus.
   */
  lengthBonus: z.number().int().positive().nullable().default(null),
  /** Stored rollouts per prompt: at most half right and half wrong. */
  perPrompt: z.number().int().min(2).default(64),
  records: z.number().int().positive().default(16_384),
  megabytes: z.number().positive().default(16),
  /** A rollout is too old after this many visits of its prompt, or `versions` of the policy. */
  epochs: z.number().int().positive().default(2),
  versions: z.number().int().positive().default(256),
  uses: z.number().int().positive().default(4),
  /** Maximum length of an attempt shown for reflection, in characters. */
  attempt: z.number().int().positive().default(2000),
  /** Tokens for reflection per round. */
  tokens: z.number().int().nonnegative().default(32_768),
})

export default definePlugin({
  name: 'r3_like',
  kind: 'replay',
  api: 1,
  summary: 'Replays the outcomes a group lacks, reflects on failures and ranks them.',
  settings,
  manifest: {
    formerly: 'r3',
    stateVersion: STATE_VERSION,
    needs: ['recurring', 'score'],
    budget: ({ tokens, megabytes }) => ({ tokens, stateBytes: Math.ceil((2 * megabytes + 8) * 2 ** 20) }),
  },
  create(options) {
    const buffer = createReplayBuffer({
      records: options.records,
      bytes: options.megabytes * 2 ** 20,
      perLane: Math.floor(options.perPrompt / 2),
    })
    const visits = createVisits()
    const mixer = createMixer(options, { buffer, visits })
    const ranked = async (group: Group, context: Context): Promise<number[] | undefined> => {
      const { rollouts } = group
      if (visits.count(group.prompt) === 0 || rollouts.some(isRight) || hasSignal(group)) return undefined
      const entropies = await entropiesOf(group, context)
      const rewards = rankRewards(
        winsOf(entropies.map((row) => structureOf(row, options.share))),
        options.most,
      )
      context.metric('ranked', 1)
      // All equal: nothing is ranked, and the verifier's rewards stay.
      if (rewards.every((reward) => reward === rewards[0])) return undefined
      mixer.noteRanked(group)
      return rewards
    }

    return {
      reward(group, context) {
        const bonus = options.lengthBonus
        if (bonus !== null && group.rollouts.some(isRight))
          return group.rollouts.map((rollout) =>
            isRight(rollout) ? 1 + Math.max(0, 1 - rollout.tokens.length / bonus) : rollout.reward,
          )
        return ranked(group, context)
      },

      extend(round: RoundView, context) {
        if (round.asked > 0) return []
        let left = round.tokensLeft
        return round.groups.flatMap((group, index) => {
          const past = visits.mean(group.prompt)
          const wrong = buffer.lane(`${promptKey(group.prompt)}/wrong`)
          if (past === undefined || past >= options.tau || wrong.length === 0) return []
          left -= group.rollouts.length * context.limits.completion
          if (left < 0) return []
          const random = context.random(`attempt/${context.step}/${index}/${group.id}`)
          const { rollouts, tainted } = wrong[Math.floor(random() * wrong.length)]!
          const at = { prompt: group.prompt, tainted, longest: options.attempt }
          const rewrite = reflectionOn(rollouts[0]!.text, at, context)
          if (!rewrite) return []
          const { prompt, id: parent } = group
          const id = `reflect/${index}`
          return [{ id, prompt, rollouts: group.rollouts.length, rewrite, keep: 'train' as const, parent }]
        })
      },

      group: (groups, view, context) => mixer.mix(groups, view, context),
      modify: (advantages: Advantages, groups) =>
        groups.map((group, g) =>
          mixer.isChanged(group)
            ? mixedAdvantages(
                group.rollouts.map(({ reward }) => reward),
                options,
              )
            : advantages[g]!,
        ),

      observe(groups, context) {
        const seen = new Set<string>()
        for (const group of groups) {
          buffer.belongTo(group.policy)
          const key = promptKey(group.prompt)
          const fresh = group.rollouts.filter(canReplay)
          visits.add(group.prompt, fresh.map(taskRewardOf), !seen.has(key))
          seen.add(key)
          const mark = visits.count(group.prompt)
          for (const rollout of fresh)
            buffer.add(
              storedOf(group, [rollout], { lane: `${key}/${isRight(rollout) ? 'right' : 'wrong'}`, mark }),
            )
        }
        context.metric('stored', buffer.size)
      },

      save: () => buffer.save({ visits: visits.save(), ranked: mixer.save() }),
      load(state) {
        const extra = buffer.load(state) as { visits?: unknown; ranked?: unknown } | null
        visits.load(extra?.visits)
        mixer.load(extra?.ranked)
      },
    }
  },
})

function taskRewardOf({ taskReward, reward }: Rollout): number {
  return taskReward ?? reward
}
