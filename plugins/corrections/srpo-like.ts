// SRPO: right answers keep the estimator's advantages. Wrong ones get per-token advantages from the policy itself,
// prompted with a right answer.
//
//   wrong answers:  A_t = certainty(H_t) clip(log pi(y_t | s, x) - log pi(y_t | x), +-bound)
//
// After Li et al. 2026 (Sample-Routed Policy Optimization, arXiv 2604.02288), which routes right rollouts to GRPO and
// wrong ones to SDPO (Hübotter et al. 2026, arXiv 2601.20802): x is the prompt, s a right answer of the same group,
// shown before the question. From the paper are the routing, the sibling as the teacher's context, and a weight that
// falls with the teacher's entropy H. The paper distils the teacher's whole distribution; here only the written token
// counts, since `score` gives no others. The weight exp(-H), the bound and the words around the sibling are ours.
// Groups without a right answer keep the estimator's advantages; episodes and rewritten prompts are left unchanged.
//
// Try it with a model that makes good use of its context. It costs two scoring passes over the wrong answers.

import { z } from 'zod'
import { type Context, definePlugin, type ScoreItem } from '../../protocol/plugin/index.ts'
import { type Group, isRight, type Rollout } from '../../protocol/train/index.ts'

const settings = z.strictObject({
  /** Largest absolute advantage of a token. */
  bound: z.number().positive().default(1),
  /** Factor on these advantages. */
  strength: z.number().nonnegative().default(1),
  before: z.string().max(2000).default('A right answer to the next question is:\n'),
  after: z.string().max(2000).default('\n\n'),
})

export default definePlugin({
  name: 'srpo_like',
  kind: 'correction',
  api: 1,
  summary: 'Wrong answers learn, token by token, from a right one in the prompt.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ bound, strength, before, after }) => ({
    async modify(advantages, groups, context) {
      const routed = groups.flatMap((group, g) => {
        const taught = teacherOf(group, (text) => `${before}${text}${after}`, context)
        if (!taught) return []
        return group.rollouts.flatMap((rollout, r) =>
          isRight(rollout) || !fits(taught, rollout, context) ? [] : [{ g, r, rollout, taught }],
        )
      })
      const scored = await context.score(
        routed.flatMap(({ g, rollout, taught }): ScoreItem[] => [
          { conditioning: taught, completion: rollout.tokens },
          { conditioning: groups[g]!.conditioning, completion: rollout.tokens },
        ]),
      )
      const changed = advantages.map((rows) => [...rows])
      routed.forEach(({ g, r, rollout }, i) => {
        const [teacher, student] = [scored[2 * i]!, scored[2 * i + 1]!]
        changed[g]![r] = Float32Array.from(rollout.tokens, (_, t) => {
          const gap = teacher.logprobs[t]! - student.logprobs[t]!
          return strength * Math.exp(-teacher.entropies[t]!) * Math.max(-bound, Math.min(bound, gap))
        })
      })
      context.metric('routed', routed.length)
      return changed
    },
  }),
})

/** The prompt preceded by the group's shortest right answer; undefined if there is none. */
function teacherOf(
  { arm, prompt, rollouts }: Group,
  shown: (text: string) => string,
  context: Context,
): Int32Array | undefined {
  if (arm !== 'base' || rollouts.some(({ turns, conditioning }) => turns || conditioning)) return undefined
  const right = rollouts.filter(isRight)
  if (right.length === 0) return undefined
  const { text } = right.reduce((least, one) => (one.tokens.length < least.tokens.length ? one : least))
  return context.conditioning(prompt, { before: shown(text) })
}

function fits(conditioning: Int32Array, { tokens }: Rollout, { limits }: Context): boolean {
  return conditioning.length + tokens.length <= limits.context
}
