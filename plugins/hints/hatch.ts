// HATCH's annealer: scales down the advantages of hinted groups as fewer prompts are all wrong without a hint, since
// the aim is to solve prompts without hints. Works with any plugin that hints failed prompts.
//
//   p    = EMA(share all wrong) / (EMA(share all wrong) + EMA(share mixed) + 1e-8)
//   beta = clip(kappa * p^gamma, 0, 1);   advantages of hinted groups are multiplied by beta
//
// The shares refer to plain prompts: a group that replaces a plain one, or contains a hinted success, counts as all
// wrong. A group with a hinted success is scaled as a whole, since its signal comes only from that success. kappa
// and the rate of the averages were not published. Left out: keeping all M hinted groups, training the policy
// to write hints, projecting that gradient (which needs two gradients), and weights by token shares.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { readState, writeState } from '../state.ts'
import { passRate } from './groups.ts'

const settings = z.strictObject({
  gamma: z.number().min(0).default(5),
  kappa: z.number().min(0).default(1),
  /** Weight of the newest round in the averages. */
  rate: z.number().positive().max(1).default(0.1),
  /** Arms whose groups and rollouts count as hinted. */
  arms: z.array(z.string().min(1)).min(1).default(['hint']),
  /** A rollout is right if its score is above this. */
  threshold: z.number().min(0).max(1).default(0.5),
})

const EPSILON = 1e-8
const saved = z.strictObject({
  wrong: z.number().min(0),
  mixed: z.number().min(0),
  rounds: z.number().int().min(0),
})

export default definePlugin({
  name: 'hatch',
  kind: 'hint',
  api: 1,
  summary: 'Hinted groups count less as fewer prompts are all wrong.',
  settings,
  create({ gamma, kappa, rate, arms, threshold }) {
    let averages = { wrong: 0, mixed: 0, rounds: 0 }
    const hints = (arm: string | undefined): boolean =>
      arm?.split('+').some((one) => arms.includes(one)) ?? false
    const isHinted = (group: Group): boolean =>
      hints(group.arm) || group.rollouts.some(({ arm }) => hints(arm))
    /** 1 before the first round, since nothing is known yet. */
    const beta = (): number => {
      const { wrong, mixed, rounds } = averages
      return rounds === 0 ? 1 : annealed(wrong, mixed, { gamma, kappa })
    }
    return {
      save: () => writeState(averages),
      load(state) {
        averages = readState(saved, state)
      },

      observe(groups, context) {
        // A prompt that was hinted without having failed first says nothing about the plain prompt.
        const told = groups.filter(
          (group) => group.arm === 'base' || (isHinted(group) && group.origin?.parent),
        )
        if (told.length === 0) return
        const rates = told.map((group) => (isHinted(group) ? 0 : passRate(group, threshold)))
        const share = (counts: (rate: number) => boolean): number => rates.filter(counts).length / told.length
        const weight = averages.rounds === 0 ? 1 : rate
        const mix = (average: number, now: number): number => average + weight * (now - average)
        averages = {
          wrong: mix(
            averages.wrong,
            share((one) => one === 0),
          ),
          mixed: mix(
            averages.mixed,
            share((one) => one > 0 && one < 1),
          ),
          rounds: averages.rounds + 1,
        }
        context.metric('beta', beta())
      },

      modify(advantages, groups) {
        const factor = beta()
        return advantages.map((row, i) =>
          isHinted(groups[i]!)
            ? row.map((one) => (typeof one === 'number' ? one * factor : one.map((value) => value * factor)))
            : row,
        )
      },
    }
  },
})

export function annealed(
  wrong: number,
  mixed: number,
  { gamma, kappa }: { gamma: number; kappa: number },
): number {
  const share = wrong / (wrong + mixed + EPSILON)
  return Math.max(0, Math.min(1, kappa * share ** gamma))
}
