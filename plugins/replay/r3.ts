// R³ (arXiv 2601.19620): replay across contexts, reflection, ranking rewards, from the second visit of a prompt on.
//
// Reflection is asked for beside the prompt's own rollouts, as a group of its own, where its past mean is below `tau`.
// A group all wrong is joined by `k` past right rollouts of the prompt, one all right by wrong ones, under whatever text
// they were found; A = (R - mean) / (alpha std + lambda) over the mixed group. Failures are ranked by their entropies.
// No code and no constants of the paper are published: `tau`, `k`, `share`, `most`, `alpha`, `lambda` and the buffer's
// bounds are ours. Ours too: most recent first, a cap on uses, and the formula only in groups that were mixed or ranked
// (all others are the estimator's: with GRPO the same). The length bonus is off unless `lengthBonus` is set.

import { z } from 'zod'
import { type Advantages, type Context, definePlugin, type RoundView } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, promptKey, type Rollout } from '../../protocol/train/index.ts'
import { createReplayBuffer } from './buffer.ts'
import { createMixer, mixedAdvantages } from './mixing.ts'
import { entropiesOf, rankRewards, structureOf, winsOf } from './ranking.ts'
import { reflectionOn } from './reflection.ts'
import { canReplay, isRight, storedOf } from './stored.ts'
import { createVisits } from './visits.ts'

const settings = z.strictObject({
  tau: z.number().min(0).max(1).default(0.25),
  k: z.number().int().positive().default(1),
  /** Of a response's tokens, those with the highest entropies. */
  share: z.number().positive().max(1).default(0.2),
  /** Reward of the best failure; below 1, so that none ever beats a success. */
  most: z.number().nonnegative().lt(1).default(0.5),
  alpha: z.number().nonnegative().default(1),
  lambda: z.number().positive().default(1e-6),
  std: z.enum(['sample', 'population']).default('sample'),
  /** Tokens at which a right answer's bonus 1 - length / lengthBonus ends; null for no bonus. */
  lengthBonus: z.number().int().positive().nullable().default(null),
  /** Of one prompt, half of them right and half wrong at most. */
  perPrompt: z.number().int().min(2).default(64),
  records: z.number().int().positive().default(16_384),
  megabytes: z.number().positive().default(16),
  /** A rollout is too old after so many visits of its prompt, or versions of the policy. */
  epochs: z.number().int().positive().default(2),
  versions: z.number().int().positive().default(256),
  uses: z.number().int().positive().default(4),
  /** Longest attempt shown for reflection, in characters. */
  attempt: z.number().int().positive().default(2000),
  /** Tokens for reflection in a round. */
  tokens: z.number().int().nonnegative().default(32_768),
})
export type R3Settings = z.infer<typeof settings>

export default definePlugin({
  name: 'r3',
  kind: 'replay',
  api: 1,
  summary: 'Replays what a prompt lacks, reflects on failures and ranks them.',
  settings,
  manifest: {
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
      // All equal: nothing was ranked, and the verifier's rewards stay.
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
