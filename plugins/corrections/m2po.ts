// M2PO: drops the most off-policy tokens until the second moment of the rest is small.
//
// Second-moment trust policy optimization (arXiv 2510.01161), in AReaL's form. Among all tokens of the batch
// whose sampler is known, those with the largest (proximal - behaviour)^2 are left out of the loss until the
// mean over the rest is below 0.04; at least one token stays. If most tokens are close, few are dropped, so old
// rollouts stay useful. The remaining tokens keep the weights from other corrections. Dropped tokens no longer
// count in the mean's denominator. The proximal log-probs come from a separate scoring pass at temperature 1.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'
import { gapsOf } from './gaps.ts'

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
  summary: 'Drops the most off-policy tokens until the rest are close.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ bound }) => ({
    async group(groups, { at }, context) {
      if (at !== 'batch') return groups
      const tokens = (await gapsOf(groups, context)).flatMap(({ rollout, tokens }) =>
        tokens.map(({ at, gap }) => ({ rollout, at, square: gap ** 2 })),
      )
      const dropped = beyond(tokens, bound)
      context.metric('dropped', dropped.length / Math.max(1, tokens.length))
      return masked(groups, dropped)
    },
  }),
})

/** The smallest set of tokens, largest first, to drop so that the mean of the squares falls below the bound. */
export function beyond<T extends { square: number }>(tokens: readonly T[], bound: number): T[] {
  const sorted = [...tokens].sort((a, b) => b.square - a.square)
  let [dropped, sum] = [Math.max(0, sorted.length - 1), 0]
  // In ascending order, so that a non-finite value affects only sums that are never used.
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
