// Cog-Rethinker: if all answers to a question are wrong, asks it again, first with the request to split it into smaller
// questions, then with a wrong answer to improve. Right answers found this way are trained on as answers to the plain
// question.
//
// Sun et al. 2025 (arXiv 2510.15979), from the abstract: the two stages, in this order and the second only if the first
// found nothing, and supervised learning of the right answers of both under the plain prompt. The paper's prompts,
// weights and choice of rollouts for RL were not available. So the wording is ours, the texts have `coefficient` times
// the loss -log pi, and a stage's groups with both right and wrong answers are also trained on by RL, under the prompt
// that they were sampled under.
//
// Unlike the other hints, it needs no reference solution, so it also works for questions that come only with an answer.
// Nothing of it is shared. Try it with a model that follows instructions.

import { z } from 'zod'
import { column, mul, neg } from '../../protocol/plugin/expression/expression.ts'
import {
  type Context,
  definePlugin,
  type Request,
  type Rewrite,
  type RoundView,
} from '../../protocol/plugin/index.ts'
import { type Group, isRight, type Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'
import { passRate, tell, tokensSetting } from './groups.ts'
import { withoutMiddle } from './prompts.ts'

const settings = z.strictObject({
  /** Weight of the supervised loss, per token; 0 for RL on the stages' groups only. */
  coefficient: z.number().nonnegative().default(1),
  /** Maximum number of right answers taught per question. */
  taught: z.int().positive().max(64).default(1),
  /** Maximum length of a shown wrong answer, in tokens. */
  shown: z.int().positive().default(512),
  split: z
    .string()
    .max(2000)
    .default(
      'Split the question below into smaller questions and answer these one after another. Then answer it in the form that it asks for.\n\n',
    ),
  refine: z
    .string()
    .max(2000)
    .default(
      '\n\nAn earlier answer was wrong. Find its mistake, and answer the question again. The earlier answer:\n',
    ),
  tokens: tokensSetting,
})
type Settings = z.output<typeof settings>

const NAME = 'hint/cog_rethinker_like'
const STAGES = ['split', 'refine'] as const

export default definePlugin({
  name: 'cog_rethinker_like',
  kind: 'hint',
  api: 1,
  summary: 'Splits or improves what was all wrong, and learns it as a plain answer.',
  settings,
  manifest: {
    claims: ['hinted'],
    budget: ({ tokens }) => ({ tokens }),
  },
  create(options) {
    /** This round's groups without a right answer; `found` has the right answers that a stage then found, by group. */
    let stuck: Group[] = []
    let found = new Map<Group, Rollout[]>()
    const look = ({ landed }: RoundView, stage: number): void =>
      stuck.forEach((base, i) => {
        const right = landed.get(`${STAGES[stage]}:${i}`)?.rollouts.filter(isRight) ?? []
        if (right.length > 0) found.set(base, right)
      })
    return {
      extend(round, context) {
        const stage = round.asked
        if (stage === 0) {
          stuck = round.groups.filter((group) => group.arm === 'base' && passRate(group, 0.5) === 0)
          found = new Map()
        } else look(round, stage - 1)
        if (stage >= STAGES.length) return []
        return stuck.flatMap((base, i): Request[] => {
          const rewrite = rewriteFor(STAGES[stage]!, base, options, context)
          if (found.has(base) || !rewrite) return []
          const { prompt, id, rollouts } = base
          const asked = { prompt, rollouts: rollouts.length, rewrite, parent: id, keep: 'train' as const }
          return [{ id: `${STAGES[stage]}:${i}`, ...asked }]
        })
      },

      group(groups, { at }, context) {
        if (at === 'batch') return groups
        // Results of the last stage are already in: `extend` is called once more after it.
        tell(context, { prompts: stuck.length, solved: found.size })
        const lessons = [...found].map(([base, right]) => lessonOf(base, right.slice(0, options.taught)))
        return options.coefficient === 0 ? groups : [...groups, ...lessons]
      },

      columns: (_, groups) => ({
        taught: groups.map(({ rollouts, origin }) =>
          rollouts.map(({ taught }) => (taught && origin?.plugin === NAME ? 1 : 0)),
        ),
      }),

      correct: () => ({
        columns: { taught: 0 },
        instead: {
          where: column('cog_rethinker_like.taught'),
          loss: neg(mul(options.coefficient, column('logprob'))),
        },
      }),
    }
  },
})

function rewriteFor(
  stage: (typeof STAGES)[number],
  { rollouts }: Group,
  { split, refine, shown }: Settings,
  context: Context,
): Rewrite | undefined {
  if (stage === 'split') return { before: split, arm: 'split', tainted: false }
  const wrong = withoutMiddle(rollouts[0]!.text, shown, (text) => context.countTokens(text))
  return wrong === '' ? undefined : { after: `${refine}${wrong}`, arm: 'refine', tainted: false }
}

/** A group that teaches right answers as answers to the plain question. */
function lessonOf(base: Group, right: readonly Rollout[]): Group {
  return {
    ...base,
    id: contentId(
      base.prompt,
      right.map(({ text }) => text),
    ),
    arm: 'taught',
    always: true,
    origin: { plugin: NAME, parent: base.id },
    rollouts: right.map(({ behaviourLogprobs: _, conditioning: __, ...rollout }) => ({
      ...rollout,
      taught: true,
    })),
  }
}
