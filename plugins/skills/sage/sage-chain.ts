// SAGE (Skill-Augmented GRPO for self-Evolution, arXiv 2512.17102) on texts: chains of two prompts, each with its own
// library that starts empty.
//
// Differences: In the paper a skill is a Python function that an agent writes, saved if it ran. A node never executes
// what a model writes, and a single-answer task has no interpreter. So here a skill is a named text in a completion,
// saved if the completion ended by itself with an answer, and it counts as used if it is named. A scenario is a task at
// a difficulty; its second prompt is another one of the round, or a new one. Rewards and advantages (no deviation, one
// baseline per position) are the paper's. Its loss sums over positions; here the batch is averaged like any other. A
// chain has at most a few skills, so all are shown and there is no retrieval; `slea` and `arise` have libraries across
// scenarios with retrieval by words or by states. Nothing is shown in evaluation: the paper's library also starts
// empty there and fills within a scenario, which a single prompt does not have.

import { z } from 'zod'
import { definePlugin, type Request, type RoundView } from '../../../protocol/plugin/index.ts'
import { type Group, HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { createTally } from '../library/tally.ts'
import { notesOf } from '../library/text.ts'
import { CHAINED, outcomeOf, rewarded, secondOf, together } from './chain-groups.ts'
import { chainRewards, type Outcome, type Skill, skillsIn, usesOneOf } from './chains.ts'

const ASK =
  '\n\nBefore the answer you may write down a method for other problems like this: <skill name="short_name">method</skill>'
const TITLE = 'Your own skills; say the name of one that you use:'

const settings = z.strictObject({
  /** Tokens for second prompts per round. */
  tokens: z.number().int().nonnegative().default(65_536),
})

interface Chain {
  first: string
  /** The skills of each rollout of the first group. */
  skills: Skill[][]
}

export default definePlugin({
  name: 'sage_chain',
  kind: 'skill',
  api: 1,
  summary: 'Chains of two prompts: skills written in one are used in the next.',
  settings,
  manifest: {
    conflicts: [
      { with: 'estimator/none', because: 'its skills live in the policy, not in a library' },
      { with: 'estimator/spo', because: 'it compares the rollouts of a prompt' },
    ],
    budget: ({ tokens }) => ({ tokens }),
  },
  create() {
    const tally = createTally()
    let chains = new Map<string, Chain>()

    return {
      compose: ({ turn }, { phase }) =>
        turn > 0 || phase === 'eval' ? undefined : { after: ASK, arm: 'chain', tainted: false },

      extend(round: RoundView, context): Request[] {
        if (round.asked > 0) return []
        chains = new Map()
        let left = round.tokensLeft
        return round.groups.flatMap((group, c) => {
          left -= group.rollouts.length * context.limits.completion
          if (left < 0) return []
          const random = context.random(`second/${context.step}/${group.id}`)
          const prompt = secondOf(group, round.groups, () => Math.floor(random() * HELD_OUT_SEED))
          const outcomes = group.rollouts.map((rollout) => outcomeOf(group, rollout, context.verify))
          const skills = group.rollouts.map(({ text }, j) => (outcomes[j]!.whole ? skillsIn(text) : []))
          const id = `${context.step}/${c}`
          for (const own of skills) tally.count(own.length > 0)
          tally.report(context)
          chains.set(id, { first: group.id, skills })
          return skills.map((own, j): Request => {
            const shown = own.filter(({ text }) => !context.leaks(prompt, text))
            const notes = shown.map(({ name, text }) => `${name}: ${text}`)
            const rewrite = {
              before: notesOf(notes, TITLE),
              after: ASK,
              arm: 'chain',
              tainted: group.tainted === true,
            }
            const request = { id: `${id}/${j}`, prompt, rollouts: 1, rewrite, parent: group.id }
            return { ...request, keep: 'train', chain: { id, position: 1 } }
          })
        })
      },

      group(groups, view, context) {
        if (view.at === 'batch') return groups
        const second = new Map(
          groups.flatMap((group) =>
            group.origin?.plugin === CHAINED && group.origin.request
              ? [[group.origin.request, group] as const]
              : [],
          ),
        )
        let result = groups.filter((group) => ![...second.values()].includes(group))
        for (const [id, { first: firstId, skills }] of chains) {
          const first = result.find((group) => group.id === firstId)
          if (!first) continue
          const of = (group: Group, r = 0): Outcome => outcomeOf(group, group.rollouts[r]!, context.verify)
          const landed = skills.map((_, j) => second.get(`${id}/${j}`))
          const rewards = skills.map((own, j) => {
            const next = landed[j]
            const used = next !== undefined && usesOneOf(own, next.rollouts[0]!.text)
            return chainRewards(of(first, j), next && { ...of(next), used })
          })
          const chained = rewarded(
            first,
            rewards.map(([reward]) => reward),
            { id, position: 0 },
          )
          result = result.map((group) => (group === first ? chained : group))
          const there = landed.flatMap((group, j) => (group ? [{ group, reward: rewards[j]![1]! }] : []))
          if (there.length === 0) continue
          result.push(
            rewarded(
              together(there.map(({ group }) => group)),
              there.map(({ reward }) => reward),
              { id, position: 1 },
            ),
          )
        }
        return result
      },

      modify: (advantages, groups) =>
        groups.map((group, g) => {
          if (group.origin?.plugin !== CHAINED || !group.origin.chain) return advantages[g]!
          const mean = group.rollouts.reduce((sum, { reward }) => sum + reward, 0) / group.rollouts.length
          return group.rollouts.map(({ reward }) => reward - mean)
        }),
    }
  },
})
