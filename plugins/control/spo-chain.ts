// SPO-chain: each segment of an answer gets the change in the probability of success that it caused, measured by
// sampling continuations from its beginning and from its end.
//
//   A(segment from cut k to cut k + 1) = V(k + 1) - V(k),   V(k) = mean reward of `samples` answers from there on
//
// Guo et al. 2025 (Segment Policy Optimization, arXiv 2505.23564), after its released code. A token to which the
// policy gave a probability below 0.9 is a cut point, and a segment begins at every fifth cut point; the value at the
// end is the reward. Only tokens below 0.9 are trained on ("probability mask"), and their advantages are whitened over
// the batch. Cut points and samples, 5 and 9, are the paper's for GSM8K. The config chooses the loss (the paper: PPO's
// clip and a KL penalty). The values are those of the policy that wrote the answer, so they remain valid while a group
// waits. The value of the question itself is measured once per group, not once per answer. Groups without measured
// values, such as peers', keep the estimator's advantages, as do episodes and rewritten prompts.
//
// It needs no groups: with rollout.group_size = 1 all tokens go into continuations. Groups are not changed, so they can
// be shared; continuations are used only to measure values. Try it where answers have many steps and tokens are cheap
// compared with updates: each segment costs `samples` continuations, so an update has few answers for its tokens, and
// much noise.

import { z } from 'zod'
import { definePlugin, type Request, type RoundView } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { mean } from '../estimators/shared/groups.ts'
import { createValues, type Known } from './spo-values.ts'

const settings = z.strictObject({
  /** Cut points from one segment to the next. */
  interval: z.int().positive().default(5),
  /** Continuations for each value. */
  samples: z.int().positive().max(64).default(9),
  /** Tokens with a smaller probability are cut points, and only they are trained on. */
  sure: z.number().positive().max(1).default(0.9),
  whiten: z.boolean().default(false),
  /** Tokens that may be generated per round. */
  tokens: z.int().positive().default(262_144),
})

export default definePlugin({
  name: 'spo_chain',
  kind: 'control',
  api: 1,
  summary: 'Advantages by segment, from answers that continue at both its ends.',
  settings,
  manifest: {
    budget: ({ tokens }) => ({ tokens, stateBytes: 32 * 2 ** 20 }),
  },
  create({ interval, samples, sure, whiten }) {
    const values = createValues()
    const isUnsure = (logprob: number): boolean => logprob < Math.log(sure)

    return {
      save: values.save,
      load: values.load,

      extend(round, context) {
        const measured = round.groups.filter(isMeasurable)
        const cuts = measured.map(({ rollouts }) => rollouts.map((one) => cutsOf(one, isUnsure, interval)))
        if (round.asked === 0) return probesFor(measured, cuts, samples)
        measured.forEach(({ id, rollouts }, g) => {
          const known = knownAt(g, cuts[g]!, round)
          if (rollouts.some((one, r) => differences(one, known[r]!).some((value) => value !== 0)))
            values.set(id, known)
        })
        context.metric('continuations', [...round.landed.values()].flatMap(({ rollouts }) => rollouts).length)
        return []
      },

      group(groups, { at }) {
        return groups.map((group) => {
          const known = values.get(group)
          if (!known) return group
          if (at === 'round') return { ...group, always: true }
          const rollouts = group.rollouts.map((one) => ({
            ...one,
            lossMask: Uint8Array.from(one.behaviourLogprobs!, (logprob) => (isUnsure(logprob) ? 1 : 0)),
          }))
          return { ...group, rollouts }
        })
      },

      modify(advantages, groups) {
        const measured = groups.map((group) => {
          const known = values.get(group)
          return known && group.rollouts.map((one, r) => differences(one, known[r]!))
        })
        const learnt = measured.flatMap((rows, g) =>
          (rows ?? []).flatMap((row, r) => {
            const { behaviourLogprobs } = groups[g]!.rollouts[r]!
            return [...row].filter((_, t) => isUnsure(behaviourLogprobs![t]!))
          }),
        )
        const centre = whiten ? mean(learnt) : 0
        const spread = whiten ? Math.sqrt(mean(learnt.map((one) => (one - centre) ** 2)) + 1e-8) : 1
        return advantages.map(
          (rows, g) => measured[g]?.map((row) => row.map((value) => (value - centre) / spread)) ?? rows,
        )
      },
    }
  },
})

function isMeasurable({ arm, rollouts }: Group): boolean {
  return (
    arm === 'base' &&
    rollouts.every(
      ({ behaviourLogprobs, turns, conditioning }) => behaviourLogprobs && !turns && !conditioning,
    )
  )
}

/** Token indices at which segments begin. */
function cutsOf(
  { behaviourLogprobs }: Rollout,
  isUnsure: (logprob: number) => boolean,
  interval: number,
): number[] {
  const points = [...behaviourLogprobs!.keys()].filter((t) => isUnsure(behaviourLogprobs![t]!))
  return points.filter((_, i) => i % interval === 0)
}

const nameOf = (group: number, rollout: number, at: number): string =>
  at === 0 ? `${group}` : `${group}:${rollout}:${at}`

function probesFor(groups: readonly Group[], cuts: readonly number[][][], rollouts: number): Request[] {
  return groups.flatMap((group, g) => {
    const { prompt } = group
    const cutAt = cuts[g]!.flatMap((row, rollout) => row.map((at) => ({ rollout, at })))
    const question: Request[] = cutAt.some(({ at }) => at === 0)
      ? [{ id: nameOf(g, 0, 0), prompt, rollouts, keep: 'probe' }]
      : []
    const within = cutAt.filter(({ at }) => at > 0)
    return [
      ...question,
      ...within.map(
        ({ rollout, at }): Request => ({
          ...{ id: nameOf(g, rollout, at), prompt, rollouts, keep: 'probe' },
          prefix: { group, rollout, length: at },
        }),
      ),
    ]
  })
}

/** For each rollout, the cuts whose value was measured. Some may be missing if the token budget ran out. */
function knownAt(group: number, cuts: readonly number[][], { landed }: RoundView): Known[] {
  return cuts.map((row, rollout) =>
    row.flatMap((at) => {
      const probe = landed.get(nameOf(group, rollout, at))
      return probe ? [[at, mean(probe.rollouts.map(({ reward }) => reward))] as const] : []
    }),
  )
}

/** Per token, the value at the end of its segment minus that at its beginning; 0 before the first segment. */
export function differences({ tokens, reward }: Rollout, known: Known): Float32Array {
  const all = new Float32Array(tokens.length)
  known.forEach(([at, value], k) => {
    const [end, next] = known[k + 1] ?? [tokens.length, reward]
    all.fill(next - value, at, end)
  })
  return all
}
