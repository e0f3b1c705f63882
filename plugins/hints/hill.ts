// HiLL (arXiv 2604.00698): a second trainable model, the hinter, learns to write hints for prompts whose groups are all
// wrong. A hint earns if the rollouts under it come out mixed, and if its right answers would have been likely
// without it, since only those help when the hint is gone.
//
// As its released code: one wrong attempt a prompt, M hints from it, parsed and gated; each is rolled out as a group of
// its own, and the best one's group stands in for the plain one. Where the code scores all hinted answers, only the
// right ones are scored here, since no others enter. Reliance is a mean per token: the paper's bound holds for the sum.
// The leak gate is the shared one. Hinter groups are learnt from at the next commit, with the sampler's own log-probs.

import { z } from 'zod'
import { definePlugin, type RoleGroup } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { affordable, promptsToHint, standIn, tell, tokensSetting } from './groups.ts'
import { type Candidate, writeHints } from './hill-hints.ts'
import { HINT_REWARDS, judge, probabilityTerm, rightOnes, toLearn } from './hill-reward.ts'

const settings = z.strictObject({
  /** M: hints a prompt. */
  hints: z.number().int().min(1).max(64).default(4),
  reward: z.enum(HINT_REWARDS).default('transfer_weighted_non_deg'),
  /** T: reliance, in nats a token, that divides a hint's worth by e. */
  temperature: z.number().positive().default(0.3),
  /** Of a hint that is none, is too long or tells the answer. */
  failReward: z.number().default(-0.2),
  /** A rollout is right above this. */
  threshold: z.number().min(0).max(1).default(0.5),
  /** Fewer all-wrong prompts in a round are left alone. */
  leastPrompts: z.number().int().min(1).default(1),
  /** The hinter's prompt: as in the paper, or a compact form for models of a few million parameters. */
  form: z.enum(['full', 'short']).default('full'),
  /** Longest hinted question, hinter's prompt and hinter's text, in tokens; the model's own limits hold as well. */
  promptTokens: z.number().int().positive().default(2048),
  hinterPromptTokens: z.number().int().positive().default(10_240),
  hinterTokens: z.number().int().positive().default(1024),
  hinterTemperature: z.number().min(0).default(1),
  tokens: tokensSetting,
})

const NAME = 'hint/hill'
/** Groups of hints that wait for a commit at most; older ones are of an older hinter. */
const WAITING = 256

export default definePlugin({
  name: 'hill',
  kind: 'hint',
  api: 1,
  summary: 'A second model learns to write hints for prompts that are all wrong.',
  settings,
  manifest: {
    needs: ['privileged', 'score'],
    claims: ['hinted'],
    roles: [{ name: 'hinter', trainable: true }],
    budget: ({ tokens }) => ({ tokens }),
  },
  create(options) {
    let candidates: Candidate[] = []
    let waiting: RoleGroup[] = []
    return {
      async extend(round, context) {
        if (round.asked > 0) return []
        candidates = []
        const hard = promptsToHint(round, options.threshold, context)
        if (hard.length < options.leastPrompts) return []
        const { completion } = context.limits
        const maxNewTokens = Math.min(options.hinterTokens, completion)
        const costOf = ({ rollouts }: Group): number =>
          options.hints * (maxNewTokens + rollouts.length * completion)
        candidates = await writeHints(
          affordable(hard, round.tokensLeft, costOf),
          { ...options, maxNewTokens },
          context,
        )
        return candidates.flatMap(({ request }) => request ?? [])
      },

      async group(groups, view, context) {
        if (view.at === 'batch') return groups
        const landed = new Map(
          groups
            .filter(({ origin }) => origin?.plugin === NAME)
            .map((group) => [group.origin?.request, group]),
        )
        const chosen = new Map<string, Group>()
        const rewards: number[] = []
        for (const [base, hints] of Map.groupBy(candidates, (hint) => hint.base)) {
          const judged = await judge(hints, landed, options, context)
          if (judged.length === 0) continue
          rewards.push(...judged.map(({ reward }) => reward))
          const best = judged.reduce((a, b) => (b.reward > a.reward ? b : a))
          const plain = probabilityTerm(options.reward, rightOnes(base, options).length, base.rollouts.length)
          if (best.group && best.term > plain) chosen.set(base.id, best.group)
          if (new Set(judged.map(({ reward }) => reward)).size > 1)
            waiting.push({
              role: 'hinter',
              rollouts: judged.map((one) => toLearn(one, options.hinterTemperature)),
            })
        }
        waiting = waiting.slice(-WAITING)
        tell(context, { prompts: new Set(candidates.map(({ base }) => base)).size, solved: chosen.size })
        if (rewards.length > 0)
          context.metric('hint_reward', rewards.reduce((sum, one) => sum + one, 0) / rewards.length)
        candidates = []
        return standIn(groups, NAME, chosen)
      },

      commit() {
        const train = waiting
        waiting = []
        return { train }
      },
    }
  },
})
