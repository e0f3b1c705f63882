// DaGRPO: leaves out rollouts that are too like those of the other side, a right answer and a wrong one of nearly the same
// text, since their gradients cancel what they share and shake the rest.
//
// After Xie et al. 2025 (DaGRPO, arXiv 2512.06337). The abstract gives both of its parts: pairs of low distinctiveness are
// masked by a fine-grained score, and right answers from elsewhere ("anchors") join groups that have none. How the score
// is made is not known to us beyond that a language model makes it. Here the distance of two texts is 1 - the cosine of
// their character n-grams, and a rollout is left out if every one of the other side is nearer than `distance`. Its
// advantage is then 0; the others keep theirs. For the second part use `rescue`, which does that with peers' right answers.
//
// Try it where answers are long. In short ones right and wrong always look alike, and nothing would be learnt.

import { z } from 'zod'
import { type Context, definePlugin, similarity } from '../../../protocol/plugin/index.ts'
import { type Group, isRight } from '../../../protocol/train/index.ts'

const settings = z.strictObject({
  /** Texts that are nearer count as alike: 0 for equal texts, about 1 for unrelated ones. */
  distance: z.number().min(0).max(1).default(0.05),
})

export default definePlugin({
  name: 'dagrpo_like',
  kind: 'correction',
  api: 1,
  summary: 'Leaves out right and wrong rollouts that are nearly the same text.',
  settings,
  create: ({ distance }) => ({
    modify(advantages, groups, context) {
      let masked = 0
      const changed = advantages.map((rows, g) => {
        const alike = alikeIn(groups[g]!, distance, context)
        masked += alike.size
        return rows.map((advantage, r) => (alike.has(r) ? 0 : advantage))
      })
      context.metric('masked', masked)
      return changed
    },
  }),
})

/** Indexes of rollouts that are near to every one of the other side. */
function alikeIn({ rollouts }: Group, distance: number, context: Context): Set<number> {
  const right = rollouts.map(isRight)
  if (!right.includes(true) || !right.includes(false)) return new Set()
  const embedded = context.embed(rollouts.map(({ text }) => text))
  const isNear = (a: number, b: number): boolean =>
    1 - similarity(embedded[a]!, embedded[b]!) < distance || rollouts[a]!.text === rollouts[b]!.text
  const indexes = rollouts.map((_, i) => i)
  return new Set(indexes.filter((i) => indexes.every((j) => right[i] === right[j] || isNear(i, j))))
}
