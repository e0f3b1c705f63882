// An automatic curriculum: asks the tasks and levels at which groups have a signal, and gives more rollouts where
// rewards vary more. After Panaganti et al. 2026 (Group Distributionally Robust Optimization-Driven RL, arXiv
// 2601.19280).
//
// A bin is one task at one level. Three things are from the paper:
//   - a score of each bin, S = (1 - rate) S + rate s (eq. 12), a mean rather than a sum, so that bins that are asked
//     often do not weigh more;
//   - the share of each bin among the prompts, q = (1 - mix) softmax(sharpness S) + mix / bins (eq. 14 and 15);
//   - numbers of rollouts n per prompt that minimise the sum of v / n at the same mean number of rollouts (eq. 29,
//     whose solution is n ~ sqrt(v)).
//
// Differences: The paper's bins are ranges of a prompt's pass rate, since its prompts recur; here most prompts are
// new, so a bin is what is known of a prompt beforehand. The paper keeps its prompts and scales their advantages; here
// prompts are drawn according to q. The paper scores a bin by the GRPO loss, whose mean over a group is 0 for a fresh
// rollout. Here the score is 4 v (`signal`), which is 1 where half the answers are right and 0 where all or none are,
// or the share of wrong answers (`failure`), which is closer to the paper's worst bin but gets stuck at levels that are
// out of reach. The paper finds n with a bandit per bin and a price per rollout; here the optimal integers n are found
// greedily, giving each further rollout to the prompt where it lowers the sum most, and v is the variance of rewards.
// Of the paper's constants, `rate` is kept (0.12).
//
// Try it if a task has several levels and it is not known which one suits the model, or with tasks of unequal
// difficulty. Unseen bins count as the most promising.

import { z } from 'zod'
import {
  definePlugin,
  type PromptRequest,
  type Random,
  type SelectView,
} from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates, scoresOf } from '../../protocol/train/index.ts'
import { readState, writeState } from '../state.ts'
import { ranked } from './uniform.ts'

const settings = z.strictObject({
  /** What a bin's score is based on. */
  by: z.enum(['signal', 'failure']).default('signal'),
  /** A bin with score 1 is drawn e^sharpness times as often as one with score 0. */
  sharpness: z.number().nonnegative().max(50).default(4),
  /** Share of prompts that are spread evenly over all bins. */
  mix: z.number().min(0).max(1).default(0.1),
  /** Weight of the newest group in a score. */
  rate: z.number().positive().max(1).default(0.12),
  /** `all`: from the easiest level of each task to the hardest. `configured`: those of the config. */
  levels: z.enum(['all', 'configured']).default('all'),
  /** Whether prompts get different numbers of rollouts: from half the configured number to twice as many. */
  rollouts: z.enum(['spread', 'even']).default('spread'),
})

/** The variance of a reward that is 0 or 1 with equal probability. */
const LARGEST_VARIANCE = 0.25
/** Keeps rollouts evenly spread over prompts of bins that have never had a signal. */
const SMALLEST_VARIANCE = 0.01
/** Maximum number of bins remembered. */
const MAX = 4096

/** Exponential moving averages over a bin's groups. */
interface Bin {
  /** Average variance of rewards, with Bessel's correction. */
  variance: number
  /** Average of 1 - the mean reward. */
  failure: number
}
const UNSEEN: Bin = { variance: LARGEST_VARIANCE, failure: 1 }

const savedSchema = z.strictObject({
  turn: z.int().nonnegative(),
  bins: z.array(z.tuple([z.string(), z.number().nonnegative(), z.number()])).max(MAX),
  unanswered: z.array(z.string()).max(MAX),
})

export default definePlugin({
  name: 'gdro_like',
  kind: 'selector',
  api: 1,
  summary: 'Asks the tasks and levels where groups have a signal: a curriculum.',
  settings,
  create({ by, sharpness, mix, rate, levels, rollouts: allocation }) {
    let turn = 0
    const bins = new Map<string, Bin>()
    /** Bins that were asked but have given no groups yet. */
    const unanswered = new Set<string>()
    const binOf = (key: string): Bin => bins.get(key) ?? UNSEEN
    const scoreOf = ({ variance, failure }: Bin): number =>
      by === 'failure' ? failure : Math.min(1, variance / LARGEST_VARIANCE)

    /** Updates a bin's averages with a group's variance and failure. */
    const remember = (key: string, group: Bin): void => {
      const before = binOf(key)
      const towards = (old: number, value: number): number => (1 - rate) * old + rate * value
      bins.delete(key)
      bins.set(key, {
        variance: towards(before.variance, group.variance),
        failure: towards(before.failure, group.failure),
      })
      if (bins.size > MAX) bins.delete(bins.keys().next().value!)
    }

    /** The probability of each bin. */
    const sharesOf = (keys: readonly string[]): number[] => {
      const weights = keys.map((key) => Math.exp(sharpness * scoreOf(binOf(key))))
      const sum = weights.reduce((total, weight) => total + weight, 0)
      return weights.map((weight) => ((1 - mix) * weight) / sum + mix / keys.length)
    }

    return {
      select(view, want, context): PromptRequest[] {
        if (view.tasks.length === 0) return []
        // For example, prompts that are too long for the model. Without this their bins would stay the most promising.
        for (const key of unanswered) remember(key, { variance: 0, failure: 0 })
        unanswered.clear()
        const random = context.random(`prompts/${context.step}/${turn++}`)
        const drawers = drawersOf(view, levels, random)
        const keys = [...drawers.keys()]
        const shares = sharesOf(keys)
        const chosen = drawn(shares, want, random)
        const counts =
          allocation === 'even'
            ? chosen.map(() => view.rollouts)
            : spread(
                chosen.map((bin) => binOf(keys[bin]!).variance),
                view.rollouts,
              )
        for (const bin of chosen) unanswered.add(keys[bin]!)
        context.metric('bins', 1 / shares.reduce((sum, share) => sum + share * share, 0))
        context.metric('level', meanLevel(keys, shares))
        return chosen.map((bin, i) => ({ prompt: drawers.get(keys[bin]!)!(), rollouts: counts[i]! }))
      },

      observe(groups, context) {
        for (const group of groups) {
          const key = keyOf(group.prompt)
          unanswered.delete(key)
          const scores = scoresOf(group)
          // Results with a hint or a skill say nothing about the plain prompt, and a single answer has no variance.
          if (group.arm !== 'base' || scores.length < 2) continue
          const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
          const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0)
          remember(key, { variance: squares / (scores.length - 1), failure: 1 - mean })
        }
        context.metric('seen', bins.size)
      },

      save: () =>
        writeState({
          turn,
          bins: [...bins].map(([key, { variance, failure }]) => [key, variance, failure]),
          unanswered: [...unanswered],
        }),
      load(state) {
        const saved = readState(savedSchema, state)
        turn = saved.turn
        bins.clear()
        for (const [key, variance, failure] of saved.bins) bins.set(key, { variance, failure })
        unanswered.clear()
        for (const key of saved.unanswered) unanswered.add(key)
      },
    }
  },
})

const keyOf = ({ task, taskVersion, difficulty }: PromptCoordinates): string =>
  `${task}@${taskVersion}/${difficulty}`

/** For each bin, a function that returns its next prompt. */
function drawersOf(
  { tasks, candidates, weights }: SelectView,
  levels: 'all' | 'configured',
  random: Random,
): Map<string, () => PromptCoordinates> {
  const drawers = new Map<string, () => PromptCoordinates>()
  if (candidates && candidates.length > 0) {
    const byBin = new Map<string, PromptCoordinates[]>()
    // Each bin's prompts are in random order, weighted by the other plugins.
    for (const index of ranked(candidates.length, weights, 'draw', random)) {
      const prompt = candidates[index]!
      byBin.set(keyOf(prompt), [...(byBin.get(keyOf(prompt)) ?? []), prompt])
    }
    for (const [key, prompts] of [...byBin].sort(([a], [b]) => (a < b ? -1 : 1))) {
      let next = 0
      drawers.set(key, () => prompts[next++ % prompts.length]!)
    }
    return drawers
  }
  for (const { name, version, difficulty: own, minDifficulty, maxDifficulty } of tasks) {
    const [low, high] = levels === 'all' ? [minDifficulty, maxDifficulty] : [own, own]
    for (let difficulty = low; difficulty <= high; difficulty++) {
      const at = { task: name, taskVersion: version, difficulty }
      drawers.set(keyOf({ ...at, seed: 0 }), () => ({ ...at, seed: Math.floor(random() * HELD_OUT_SEED) }))
    }
  }
  return drawers
}

/**
 * Draws `want` indices with these probabilities by systematic sampling: each index comes up its expected number of
 * times, rounded up or down.
 */
function drawn(probabilities: readonly number[], want: number, random: Random): number[] {
  const start = random()
  const chosen: number[] = []
  let below = 0
  probabilities.forEach((probability, index) => {
    below += probability * want
    while (chosen.length < want && start + chosen.length < below) chosen.push(index)
  })
  // Rounding errors may lose the last draw.
  while (chosen.length < want) chosen.push(probabilities.length - 1)
  return chosen
}

/**
 * Integer numbers of rollouts n with the given mean, each from half to twice the mean, that minimise the sum of
 * variance / n: each further rollout goes where it lowers the sum most.
 */
export function spread(variances: readonly number[], mean: number): number[] {
  const fewest = Math.min(mean, Math.max(2, Math.ceil(mean / 2)))
  const counts = variances.map(() => fewest)
  const gain = (i: number): number =>
    counts[i]! >= 2 * mean ? 0 : Math.max(SMALLEST_VARIANCE, variances[i]!) / (counts[i]! * (counts[i]! + 1))
  for (let left = (mean - fewest) * variances.length; left > 0; left--) {
    let best = 0
    for (let i = 1; i < counts.length; i++) if (gain(i) > gain(best) + 1e-12) best = i
    counts[best]! += 1
  }
  return counts
}

function meanLevel(keys: readonly string[], shares: readonly number[]): number {
  return keys.reduce((sum, key, i) => sum + shares[i]! * Number(key.slice(key.lastIndexOf('/') + 1)), 0)
}
