// Like V0.5: a baseline between the prompt's history and the group's mean, weighted by how certain each is.
//
// Reconstructed from the abstract and third-party notes: b = w V + (1 - w) mean, w = min(1, (s^2 / n) / (mean
// - V)^2), so the prior counts unless the rollouts contradict it. V is the share of right answers in the
// prompt's history; the paper has a value model instead. Without a history V is the group's mean. If all rewards
// of a group are equal, their variance is uninformative, and s^2 is V (1 - V), at least 0.05. This rule is ours:
// otherwise an all-wrong group would never be compared with its prior. The paper's extra rollouts for
// contradicted priors are left out.

import { z } from 'zod'
import { promptKey } from '../../../protocol/train/index.ts'
import { readState, writeState } from '../../state.ts'
import { defineEstimator, LEARNS_FROM_TIES } from '../shared/estimator.ts'
import { isScored, limitSetting, mean, perGroup, std } from '../shared/groups.ts'

const settings = z.strictObject({
  /** Decay factor on a prompt's history at each visit. */
  keep: z.number().nonnegative().max(1).default(0.9),
  /** Smallest variance of a prompt's rewards. */
  least: z.number().positive().default(0.05),
  limit: limitSetting,
})

const PROMPTS = 65_536
const unit = (reward: number): number => Math.max(0, Math.min(1, reward))
const savedSchema = z.array(z.tuple([z.string().max(200), z.number().min(0), z.number().min(0)])).max(PROMPTS)

export default defineEstimator({
  name: 'v05_like',
  summary: "A baseline between the prompt's history and the group's mean.",
  settings,
  manifest: {
    ...LEARNS_FROM_TIES,
    needs: ['recurring'],
    budget: () => ({ stateBytes: 16 * 2 ** 20 }),
  },
  create({ keep, least, limit }) {
    /** By prompt: decayed sum of rewards and number of rollouts. */
    let past = new Map<string, [number, number]>()
    let self: string | undefined
    return {
      save: () => writeState([...past].map(([key, row]) => [key, ...row])),
      load(state) {
        const rows = readState(savedSchema, state)
        past = new Map(rows.map(([key, sum, count]) => [key, [sum, count]]))
      },

      group(groups, view) {
        self = view.self
        return groups
      },

      advantage: (groups) =>
        groups.flatMap((group) => {
          const [sum, count] = past.get(promptKey(group.prompt)) ?? [0, 0]
          const prior = count > 0 ? sum / count : undefined
          return perGroup([group], { limit, fewest: 1, seesZeroSignal: true }, (given) => {
            const rewards = given.map(unit)
            const baseline = fused(rewards, prior, least)
            return rewards.map((reward) => reward - baseline)
          })
        }),

      commit({ groups }) {
        for (const { prompt, rollouts, arm, author } of groups) {
          // Results with a hint or from a peer do not predict this policy on the plain prompt.
          if (arm !== 'base' || (self !== undefined && author !== self)) continue
          const rewards = rollouts.filter(isScored).map(({ reward }) => unit(reward))
          const key = promptKey(prompt)
          const [sum, count] = past.get(key) ?? [0, 0]
          past.delete(key)
          past.set(key, [keep * sum + rewards.reduce((a, b) => a + b, 0), keep * count + rewards.length])
          if (past.size > PROMPTS) past.delete(past.keys().next().value!)
        }
        return undefined
      },
    }
  },
})

/** The baseline. */
export function fused(rewards: readonly number[], prior: number | undefined, least: number): number {
  const centre = mean(rewards)
  if (prior === undefined || prior === centre) return centre
  const spread = std(rewards) ** 2
  const variance = spread > 0 ? spread : Math.max(prior * (1 - prior), least)
  const weight = Math.min(1, variance / rewards.length / (centre - prior) ** 2)
  return weight * prior + (1 - weight) * centre
}
