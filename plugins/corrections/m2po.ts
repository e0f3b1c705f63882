// M2PO: drops the tokens that are furthest off-policy until what is left has a small second moment.
//
// Second-moment trust policy optimization (arXiv 2510.01161), in AReaL's form: of all tokens of the batch whose sampler is
// known, those with the largest (proximal - behaviour)^2 are left out of the loss until its mean over the rest is below
// 0.04; one token stays at least. Few outliers go where the rest is near, so that old rollouts stay of use. What is left
// keeps the weight that other corrections give it. Dropped tokens leave the mean's denominator. The proximal log-probs come
// from a scoring pass of its own, at temperature 1.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

const settings = z.strictObject({
  /** Largest mean of the squared log-ratio. */
  bound: z.number().positive().default(0.04),
})

interface Token {
  rollout: Rollout
  at: number
  square: number
}

export default definePlugin({
  name: 'm2po',
  kind: 'correction',
  api: 1,
  summary: 'Drops the most off-policy tokens until the rest are near.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ bound }) => ({
    async group(groups, { at }, context) {
      if (at !== 'batch') return groups
      const known = groups.flatMap((group) =>
        group.rollouts.flatMap((rollout) => (rollout.behaviourLogprobs ? [{ group, rollout }] : [])),
      )
      const scored = await context.score(
        known.map(({ group, rollout }) => ({
          conditioning: rollout.conditioning ?? group.conditioning,
          completion: rollout.tokens,
        })),
      )
      const tokens = known.flatMap(({ rollout }, i) =>
        Array.from(rollout.tokens, (_, t) => ({
          rollout,
          at: t,
          square: (scored[i]!.logprobs[t]! - rollout.behaviourLogprobs![t]!) ** 2,
        })).filter((token) => rollout.lossMask?.[token.at] !== 0),
      )
      const dropped = beyond(tokens, bound)
      context.metric('dropped', dropped.length / Math.max(1, tokens.length))
      return masked(groups, dropped)
    },
  }),
})

/** The fewest tokens, largest first, without which the mean of the squares is below the bound. */
export function beyond<T extends { square: number }>(tokens: readonly T[], bound: number): T[] {
  const sorted = [...tokens].sort((a, b) => b.square - a.square)
  let [dropped, sum] = [Math.max(0, sorted.length - 1), 0]
  // From the smallest up, so that one that is not finite spoils no sum that is still used.
  for (let kept = 1; kept <= sorted.length; kept++) {
    sum += sorted[sorted.length - kept]!.square
    if (sum / kept < bound) dropped = sorted.length - kept
  }
  return sorted.slice(0, dropped)
}

function masked(groups: Group[], dropped: readonly Token[]): Group[] {
  const masks = new Map<Rollout, Uint8Array>()
  for (const { rollout, at } of dropped) {
    const mask =
      masks.get(rollout) ?? rollout.lossMask?.slice() ?? new Uint8Array(rollout.tokens.length).fill(1)
    mask[at] = 0
    masks.set(rollout, mask)
  }
  return groups.map((group) => ({
    ...group,
    rollouts: group.rollouts.map((rollout) => {
      const lossMask = masks.get(rollout)
      return lossMask ? { ...rollout, lossMask } : rollout
    }),
  }))
}
