// ARRoL: predicts from the beginning of each rollout whether it will be right, and drops rollouts so that about half
// of the remaining ones are right.
//
// After Xu et al. 2026 (Prune as You Generate, arXiv 2603.24840). From the abstract: rollouts are dropped during
// generation, a small predictor of success is trained online, and the survivors are balanced between right and wrong.
// The paper's code and formulas were not available, so the rest is ours. The paper's predictor reads hidden states;
// this one is a logistic regression on the mean log-prob and the mean entropy of the first `after` tokens, refitted
// each round to the newest finished rollouts. Once all rollouts of a prompt have that many tokens or have ended, the
// most certain successes and failures are kept, in the proportion that brings the mean prediction nearest to
// `balance`; rollouts that have ended stay. Nothing is dropped until `warmUp` rollouts have finished, with both right
// and wrong ones among them.
//
// The selection depends on a prediction, not on rewards, and the remaining groups are shared like any others. Set
// rollout.group_size to the number of rollouts to start; the share `keep` of them is finished. Try it where answers
// are much longer than the beginning needed to predict their outcome.

import { z } from 'zod'
import { definePlugin, type LiveRollout, type Steering } from '../../protocol/plugin/index.ts'
import { type Group, isRight } from '../../protocol/train/index.ts'
import { createPredictor } from './predictor.ts'

const settings = z.strictObject({
  /** Tokens after which a rollout is judged. */
  after: z.int().positive().default(64),
  /** Share of a group's rollouts to finish. */
  keep: z.number().positive().max(1).default(0.5),
  /** Share of the finished rollouts that should be right. */
  balance: z.number().min(0).max(1).default(0.5),
  warmUp: z.int().positive().max(512).default(64),
})

export default definePlugin({
  name: 'arrol_like',
  kind: 'control',
  api: 1,
  summary: 'Drops rollouts early, so that about half of the rest are right.',
  settings,
  manifest: { needs: ['park'], claims: ['flow'] },
  create({ after, keep, balance, warmUp }) {
    const predictor = createPredictor(warmUp)
    return {
      save: predictor.save,
      load: predictor.load,

      steer(live, { asks }, context) {
        const dropped = new Map<string, Steering>()
        if (!predictor.isReady) return dropped
        asks.forEach(({ rollouts }, ask) => {
          const of = live.filter((one) => one.ask === ask)
          const isTooEarly = of.some(({ tokens, done }) => tokens < after && !done)
          // A prompt is pruned only once.
          if (isTooEarly || of.length < rollouts) return
          const chances = of.map((one) => predictor.chance(featuresOf(one)))
          const kept = keptOf(chances, Math.ceil(keep * rollouts), balance)
          of.forEach(({ id, done }, i) => {
            if (!done && !kept.has(i)) dropped.set(id, 'drop')
          })
        })
        if (dropped.size > 0) context.metric('dropped', dropped.size)
        return dropped
      },

      observe(groups, context) {
        for (const { features, right } of groups.flatMap((group) => examplesOf(group, after)))
          predictor.add(features, right)
        predictor.fit()
        context.metric('ready', predictor.isReady ? 1 : 0)
      },
    }
  },
})

function featuresOf({
  logprob,
  entropy,
  tokens,
}: Pick<LiveRollout, 'logprob' | 'entropy' | 'tokens'>): number[] {
  return [logprob / Math.max(1, tokens), entropy / Math.max(1, tokens)]
}

/** Training examples for the predictor: this node's own answers to the plain question. */
function examplesOf({ arm, rollouts }: Group, after: number): Array<{ features: number[]; right: boolean }> {
  if (arm !== 'base') return []
  return rollouts.flatMap((one) => {
    const { behaviourLogprobs, entropies, author, replayed, prefix, turns } = one
    const isPlain = author === undefined && replayed === undefined && prefix === undefined && !turns
    if (!isPlain || !behaviourLogprobs || !entropies) return []
    const begin = (values: Float32Array): number => values.subarray(0, after).reduce((a, b) => a + b, 0)
    const tokens = Math.min(after, behaviourLogprobs.length)
    const features = featuresOf({ tokens, logprob: begin(behaviourLogprobs), entropy: begin(entropies) })
    return [{ features, right: isRight(one) }]
  })
}

/** Indices of `most` chances, taken from the top and the bottom so that their mean is nearest to `balance`. */
export function keptOf(chances: readonly number[], most: number, balance: number): Set<number> {
  const order = [...chances.keys()].sort((a, b) => chances[b]! - chances[a]! || a - b)
  const count = Math.min(most, order.length)
  const choice = (best: number): number[] => [
    ...order.slice(0, best),
    ...order.slice(order.length - (count - best)),
  ]
  const distance = (kept: readonly number[]): number =>
    Math.abs(kept.reduce((sum, i) => sum + chances[i]!, 0) / Math.max(1, count) - balance)
  const choices = Array.from({ length: count + 1 }, (_, best) => choice(best))
  return new Set(choices.reduce((a, b) => (distance(b) < distance(a) ? b : a)))
}
