// SPO: reward minus the prompt's expected reward, estimated from its own history, as a z-score over the batch. It
// uses no groups.
//
// Single-stream policy optimization (arXiv 2509.13232), with the constants of its code. A = r - alpha /
// (alpha + beta), with the counts from before the batch, then (A - mean) / (std + 1e-8) over all rows. After
// the update, the prompt's last answer is scored again: D = mean |log pi now - log pi then| over its tokens,
// and alpha <- rho alpha + r, beta <- rho beta + 1 - r with rho = 2^(-D / 0.06) within [0.875, 0.96]. Prompts
// are selected with weight sqrt(v (1 - v)) + 0.05. It is meant for one rollout per prompt (rollout.group_size =
// 1); several are counted together. New prompts start at one half; the paper instead counts answers before
// training and asks no other prompts. `then` is the log-prob at sampling, so the temperature must be 1.

import { z } from 'zod'
import type { Context } from '../../../protocol/plugin/index.ts'
import { type Group, promptKey } from '../../../protocol/train/index.ts'
import { defineEstimator } from '../shared/estimator.ts'
import { bounded, isScored, limitSetting, mean, std } from '../shared/groups.ts'
import { createTracker, STATE_VERSION, type Tracker } from './spo-tracker.ts'

const settings = z.strictObject({
  half: z.number().positive().default(0.06),
  least: z.number().positive().lt(1).default(0.875),
  most: z.number().positive().max(1).default(0.96),
  /** Added to every prompt's weight. */
  explore: z.number().nonnegative().default(0.05),
  epsilon: z.number().positive().default(1e-8),
  limit: limitSetting,
})

/** Any smaller spread is due to rounding. */
const FLAT = 1e-6
const unit = (reward: number): number => Math.max(0, Math.min(1, reward))

export default defineEstimator({
  name: 'spo',
  summary: "Reward minus the reward expected from the prompt's history; needs no group.",
  settings,
  manifest: {
    signal: 'any',
    stateVersion: STATE_VERSION,
    needs: ['recurring', 'score'],
    budget: () => ({ stateBytes: 32 * 2 ** 20 }),
    conflicts: [
      { with: 'correction/zero_signal', because: 'it learns from groups of equal rewards' },
      { with: 'hint', because: 'hints need groups, and it has one rollout per prompt' },
    ],
  },
  create({ explore, epsilon, limit, ...fading }) {
    const tracker = createTracker(fading)
    let self: string | undefined
    return {
      save: tracker.save,
      load: tracker.load,

      weigh: (candidates) =>
        candidates.map((prompt) => {
          const value = tracker.value(promptKey(prompt))
          return Math.sqrt(value * (1 - value)) + explore
        }),

      group(groups, view) {
        self = view.self
        return groups
      },

      advantage(groups) {
        const raw = groups.map(({ prompt, rollouts }) => {
          const promised = tracker.value(promptKey(prompt))
          return rollouts.map((one) => (isScored(one) ? unit(one.reward) - promised : Number.NaN))
        })
        const all = raw.flat().filter(Number.isFinite)
        const [centre, spread] = [mean(all), std(all)]
        return raw.map((row) =>
          row.map((value) => (spread < FLAT ? 0 : bounded((value - centre) / (spread + epsilon), limit))),
        )
      },

      async commit({ groups }, context) {
        const own = groups.filter(
          ({ author, arm }) => arm === 'base' && (self === undefined || author === self),
        )
        const moved = await movedSince(own, tracker, context)
        own.forEach((group, i) => {
          const rewards = group.rollouts.filter(isScored).map(({ reward }) => unit(reward))
          const answer = group.rollouts.findLast(
            ({ behaviourLogprobs, lossMask }) => behaviourLogprobs && !lossMask,
          )
          if (rewards.length === 0) return
          const last = answer && {
            conditioning: answer.conditioning ?? group.conditioning,
            tokens: answer.tokens,
            logprobs: answer.behaviourLogprobs!,
          }
          tracker.add(promptKey(group.prompt), rewards, moved[i]!, last)
        })
        context.metric('moved', mean(moved))
        return undefined
      },
    }
  },
})

/** D for each group; 0 for a prompt without an earlier answer. */
async function movedSince(groups: readonly Group[], tracker: Tracker, context: Context): Promise<number[]> {
  const answers = groups.map(({ prompt }) => tracker.last(promptKey(prompt)))
  const known = answers.filter((one) => one !== undefined)
  const scores =
    known.length === 0
      ? []
      : await context.score(known.map(({ conditioning, tokens }) => ({ conditioning, completion: tokens })))
  let next = 0
  return answers.map((answer) => {
    if (!answer) return 0
    const now = scores[next++]!.logprobs
    return mean(Array.from(answer.logprobs, (then, t) => Math.abs(now[t]! - then)))
  })
}
