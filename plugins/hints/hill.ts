// HiLL (arXiv 2604.00698): a second trainable model, the hinter, learns to write hints for prompts whose
// groups are all wrong. A hint is rewarded if the rollouts under it are mixed and its right answers would also have
// been likely without it, since only then does the gain transfer to the plain prompt.
//
// As in its released code: M hints per prompt from one wrong attempt, parsed and checked. Each is rolled out
// as a separate group, and the best hint's group replaces the plain one. The code scores all hinted answers;
// here only the right ones are scored, since only they are used. Reliance is a mean per token, although the
// paper's bound holds for the sum. The leak check is the shared one. Hinter groups are trained on at the next
// commit, with the sampler's own log-probs.

import { z } from 'zod'
import { definePlugin, type RoleGroup } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { createTally } from '../skills/library/tally.ts'
import { affordable, hintLimit, promptsToHint, standIn, tell, tokensSetting } from './groups.ts'
import { type Candidate, writeHints } from './hill-hints.ts'
import { HINT_REWARDS, judge, probabilityTerm, rightOnes, toLearn } from './hill-reward.ts'

const settings = z.strictObject({
  /** M: number of hints per prompt. */
  hints: z.number().int().min(1).max(64).default(4),
  reward: z.enum(HINT_REWARDS).default('transfer_weighted_non_deg'),
  /** T: the reliance, in nats per token, at which a hint's reward falls by a factor of e. */
  temperature: z.number().positive().default(0.3),
  /** Reward of a text that is not a hint, is too long or reveals the answer. */
  failReward: z.number().default(-0.2),
  /** A rollout is right if its score is above this. */
  threshold: z.number().min(0).max(1).default(0.5),
  /** Minimum all-wrong prompts in a round; with fewer, none is hinted. */
  leastPrompts: z.number().int().min(1).default(1),
  /** The hinter's prompt: as in the paper, or a compact one for models of a few million parameters. */
  form: z.enum(['full', 'short']).default('full'),
  /**
   * Limits in tokens on the hinted question, the hinter's prompt and its text. The model's own limits also apply.
   */
  promptTokens: z.number().int().positive().default(2048),
  hinterPromptTokens: z.number().int().positive().default(10_240),
  hinterTokens: z.number().int().positive().default(1024),
  hinterTemperature: z.number().min(0).default(1),
  tokens: tokensSetting,
})

const NAME = 'hint/hill'
/** Maximum groups of hints waiting for a commit; beyond that, the oldest come from an outdated hinter. */
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
    const tally = createTally()
    let candidates: Candidate[] = []
    let waiting: RoleGroup[] = []
    return {
      async extend(round, context) {
        if (round.asked > 0) return []
        candidates = []
        const hard = promptsToHint(round, options.threshold, context)
        if (hard.length < options.leastPrompts) return []
        const { completion } = context.limits
        const maxNewTokens = hintLimit(options.hinterTokens, context.limits)
        const costOf = ({ rollouts }: Group): number =>
          options.hints * (maxNewTokens + rollouts.length * completion)
        candidates = await writeHints(
          affordable(hard, round.tokensLeft, costOf),
          { ...options, maxNewTokens },
          { context, tally },
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
