// Like XRPO: gives rollouts to the prompts where they are most informative, shows solved problems to prompts
// without a success, and raises the advantage of right answers that were unlikely.
//
// arXiv 2510.06672, from the paper's text; no code was published. Every prompt gets the configured rollouts.
// Then, over `rounds` - 1 more rounds, an average of `extra` more per prompt are assigned by priority (see
// allocation.ts; the value of lambda is ours). A prompt with no reward so far is from then on preceded by K = 2
// solved problems. Similarity compares words; the paper uses a text-embedding model. All rollouts of a prompt form
// one group. Then, for right answers:
//
//   A' = A + min(max(lambda_n (1 - eta), 0), kappa A),   eta = exp(s - mean of s over the group)
//
// where s is the mean log-prob of an answer's tokens under its sampler. This applies only to own groups, since all
// of a peer's answers look novel to this policy.

import { z } from 'zod'
import { definePlugin, type Request, type RoundView } from '../../protocol/plugin/index.ts'
import { type Group, type PromptCoordinates, type Rollout, writtenOf } from '../../protocol/train/index.ts'
import { allocate } from './allocation.ts'
import { createExemplars } from './exemplars.ts'
import { mergeExtra, scoreOf, tokensSetting } from './merge.ts'

const settings = z.strictObject({
  /** Rounds of generation, including the first. */
  rounds: z.int().min(2).max(16).default(3),
  /** Average number of rollouts per prompt beyond the configured ones. */
  extra: z.int().positive().max(256).default(4),
  alpha: z.number().positive().lt(1).default(0.05),
  lambda: z.number().nonnegative().default(0.1),
  /** K, the number of solved problems shown; 0 for none. */
  exemplars: z.int().nonnegative().max(8).default(2),
  /** Maximum length of a shown solution, in characters; `corpus` is the number of solutions kept. */
  characters: z.int().positive().max(8192).default(1000),
  corpus: z.int().positive().max(16_384).default(1024),
  noveltyWeight: z.number().nonnegative().default(2.5),
  kappa: z.number().nonnegative().default(0.5),
  threshold: z.number().min(0).max(1).default(0.5),
  tokens: tokensSetting,
})

const NAME = 'control/xrpo_like'
const ARM = 'icl'

export default definePlugin({
  name: 'xrpo_like',
  kind: 'control',
  api: 1,
  summary: 'Gives rollouts where they are most informative; shows solved problems.',
  settings,
  manifest: {
    formerly: 'xrpo',
    order: 10,
    budget: ({ tokens, corpus, characters }) => ({ tokens, stateBytes: corpus * (4 * characters + 256) }),
    conflicts: [
      { with: 'control/dars', because: 'both decide how many rollouts a prompt gets' },
      { with: 'hint', because: 'both sample prompts without a success again, each with its own text' },
    ],
  },
  create({ rounds, extra, threshold, exemplars: shown, characters, corpus, ...options }) {
    const solved = createExemplars({ shown, characters, most: corpus })
    let self: string | undefined
    const isRight = (one: Rollout): boolean => scoreOf(one) > threshold

    return {
      save: solved.save,
      load: solved.load,

      extend(round, context) {
        if (round.asked >= rounds - 1) return []
        const plain = round.groups.filter(({ arm }) => arm === 'base')
        const so = plain.map((group) => [...group.rollouts, ...landedFor(group, round)])
        const affordable = Math.floor(round.tokensLeft / Math.max(1, context.limits.completion))
        const budget = Math.min(affordable, shareOf(extra * plain.length, round.asked, rounds - 1))
        const added = allocate(
          so.map((rollouts) => rollouts.map(scoreOf)),
          budget,
          options,
        )
        return plain.flatMap((group, i): Request[] => {
          if (added[i] === 0) return []
          const lost = shown > 0 && so[i]!.every((one) => scoreOf(one) <= 0)
          const before = lost ? solved.textFor(group.prompt, context) : undefined
          return [
            {
              id: `${round.asked}:${i}`,
              prompt: group.prompt,
              rollouts: added[i]!,
              keep: 'train',
              parent: group.id,
              ...(before !== undefined && { rewrite: { before, arm: ARM, tainted: false } }),
            },
          ]
        })
      },

      group(groups, view) {
        self = view.self
        return view.at === 'batch' ? groups : mergeExtra(groups, NAME)
      },

      observe(groups, context) {
        const found: Array<[PromptCoordinates, string]> = groups.flatMap(({ prompt, rollouts }) => {
          const right = rollouts.find(isRight)
          return right ? [[prompt, right.text] as [PromptCoordinates, string]] : []
        })
        for (const [prompt, text] of found) solved.add(prompt, text)
        context.metric('corpus', solved.size)
      },

      modify: (advantages, groups) =>
        advantages.map((row, g) => {
          const { author, rollouts } = groups[g]!
          if (author !== self) return row
          const rates = novelties(rollouts)
          return row.map((value, i) => {
            const eta = rates[i]
            if (eta === undefined || !isRight(rollouts[i]!)) return value
            const sharper = (a: number): number => sharpened(a, eta, options)
            return typeof value === 'number' ? sharper(value) : value.map(sharper)
          })
        }),
    }
  },
})

function landedFor({ id }: Group, { landed }: RoundView): Rollout[] {
  return [...landed.values()].flatMap((group) => (group.origin?.parent === id ? group.rollouts : []))
}

/** Part `index` when `total` is split into `parts` integers that are as equal as possible. */
function shareOf(total: number, index: number, parts: number): number {
  return Math.floor((total * (index + 1)) / parts) - Math.floor((total * index) / parts)
}

/** eta of each rollout; undefined where log-probs are unknown. */
function novelties(rollouts: readonly Rollout[]): Array<number | undefined> {
  const means = rollouts.map((rollout) => {
    const logprobs = rollout.behaviourLogprobs && writtenOf(rollout.behaviourLogprobs, rollout)
    return logprobs?.length ? logprobs.reduce((a, b) => a + b, 0) / logprobs.length : undefined
  })
  const known = means.filter((one) => one !== undefined)
  const centre = known.reduce((a, b) => a + b, 0) / Math.max(1, known.length)
  return means.map((one) => (one === undefined ? undefined : Math.exp(one - centre)))
}

export function sharpened(
  advantage: number,
  eta: number,
  { noveltyWeight, kappa }: { noveltyWeight: number; kappa: number },
): number {
  if (advantage <= 0) return advantage
  return advantage + Math.min(Math.max(noveltyWeight * (1 - eta), 0), kappa * advantage)
}
