// SCOPE: learns without answer keys. The rollouts of a question vote on its answer, weighted by their confidence, and
// rollouts that agree with the vote are rewarded as right.
//
// After Wang et al. 2025 (subgroup-specific step-wise confidence-weighted pseudo-label estimation, arXiv 2512.15146),
// from the abstract and a summary: votes are weighted by confidence, averaged over the steps of an answer, and rollouts
// are split into subgroups that vote separately, so that they do not all learn the same wrong answer. Differences: A
// step is a line, and its confidence is the mean probability of its tokens; the paper uses the log-probs of the most
// likely tokens, which engines here do not report. The subgroups are ranges of confidence, `subgroups` of equal size;
// the paper chooses their size and votes on resampled answers. With one subgroup and `weigh = false` it is TTRL's
// majority vote (Zuo et al. 2025, arXiv 2504.16084).
//
// The verifier's scores stay in `taskReward`, so accuracy is unaffected, and groups are shared only if the verifier
// gives them a signal. For questions without a key (a dataset with verifier = "unknown") it never does, so they are sent
// only to show peers how this node writes. `tasks` names the tasks to vote on; if left out, it votes on all tasks, even where keys are known. A vote
// can be wrong, and the policy then learns a wrong answer. Without a sufficient majority (`least`) nobody is rewarded,
// and the more votes agree, the weaker the signal.

import { z } from 'zod'
import { type Context, definePlugin } from '../../protocol/plugin/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

const settings = z.strictObject({
  /** Names of tasks; all if empty. */
  tasks: z.array(z.string()).max(64).default([]),
  /** False gives every vote the same weight. */
  weigh: z.boolean().default(true),
  subgroups: z.int().min(1).max(8).default(2),
  /** Minimum share of a subgroup's votes that the winner needs; below it, nobody counts as right. */
  least: z.number().min(0).max(1).default(0.3),
})

export default definePlugin({
  name: 'scope_like',
  kind: 'control',
  api: 1,
  summary: 'Rewards from votes of the rollouts, for questions without answers.',
  settings,
  create: ({ tasks, weigh, subgroups, least }) => ({
    reward(group, context) {
      if (tasks.length > 0 && !tasks.includes(group.prompt.task)) return undefined
      const voters = group.rollouts.map((rollout, index) => ({
        index,
        answer: answerOf(group, rollout, context),
        confidence: confidenceOf(rollout, context),
      }))
      const rewards = voters.map(() => 0)
      for (const part of parted(voters, subgroups)) {
        const winner = elected(part, { weigh, least })
        if (winner === undefined) continue
        for (const { index, answer } of part) if (answer === winner) rewards[index] = 1
      }
      return rewards
    },
  }),
})

interface Voter {
  index: number
  /** Undefined if the rollout gives no answer in the required form. */
  answer: string | undefined
  confidence: number
}

function answerOf({ prompt }: Group, { text }: Rollout, context: Context): string | undefined {
  const { answer, found } = context.verify(prompt, text)
  return found === 'tag' && answer ? answer.replaceAll(/\s+/g, ' ').toLowerCase() : undefined
}

/** Mean over lines of the mean probability of a line's tokens; 0 if log-probs are unknown. */
export function confidenceOf(
  { tokens, behaviourLogprobs, lossMask }: Rollout,
  context: Pick<Context, 'encode'>,
): number {
  const ends = new Set(['\n', '\n\n'].map((text) => context.encode(text).at(-1)))
  const lines: number[][] = [[]]
  tokens.forEach((token, t) => {
    if (!behaviourLogprobs || lossMask?.[t] === 0) return
    lines.at(-1)!.push(Math.exp(behaviourLogprobs[t]!))
    if (ends.has(token)) lines.push([])
  })
  return mean(lines.filter(({ length }) => length > 0).map(mean))
}

/** Splits voters by confidence into parts of equal size, with at least two voters each. */
function parted(voters: readonly Voter[], parts: number): Voter[][] {
  const sorted = [...voters].sort((a, b) => b.confidence - a.confidence || a.index - b.index)
  const count = Math.max(1, Math.min(parts, Math.floor(sorted.length / 2)))
  const end = (part: number): number => Math.round((part * sorted.length) / count)
  return Array.from({ length: count }, (_, part) => sorted.slice(end(part), end(part + 1)))
}

/** The answer with the most votes; undefined if none has enough of them. */
function elected(
  voters: readonly Voter[],
  { weigh, least }: { weigh: boolean; least: number },
): string | undefined {
  const votes = new Map<string, number>()
  const weightOf = ({ confidence }: Voter): number => (weigh ? confidence : 1)
  for (const voter of voters)
    if (voter.answer !== undefined) votes.set(voter.answer, (votes.get(voter.answer) ?? 0) + weightOf(voter))
  const all = voters.reduce((sum, voter) => sum + weightOf(voter), 0)
  const [winner] = [...votes].sort(([, a], [, b]) => b - a)
  return winner && winner[1] > 0 && winner[1] >= least * all ? winner[0] : undefined
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
