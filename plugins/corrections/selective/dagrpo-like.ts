// DaGRPO: leaves out right answers that are too similar to the wrong ones, and vice versa. If a right and a wrong
// answer have nearly the same text, their gradients cancel on the shared part and add noise on the rest.
//
// After Xie et al. 2025 (DaGRPO, arXiv 2512.06337). The abstract describes two parts: pairs of low distinctiveness are
// masked by a fine-grained score, and right answers from elsewhere ("anchors") join groups that have none. About the
// score we know only that a language model computes it. Here the distance of two texts is 1 - the cosine of their
// character n-grams, and a rollout is left out if every rollout of the other side is nearer than `distance`. Its
// advantage is then 0; the others keep theirs. For the second part use `rescue`, which adds peers' right answers.
//
// Try it where answers are long. Short right and wrong answers always look alike, so nothing would be learnt.

import { z } from 'zod'
import { type Context, definePlugin, similarity } from '../../../protocol/plugin/index.ts'
import { type Group, isRight } from '../../../protocol/train/index.ts'

const settings = z.strictObject({
  /** Texts closer than this count as alike. The distance is 0 for equal texts and about 1 for unrelated ones. */
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

/** Indices of rollouts that are close to every rollout of the other side. */
function alikeIn({ rollouts }: Group, distance: number, context: Context): Set<number> {
  const right = rollouts.map(isRight)
  if (!right.includes(true) || !right.includes(false)) return new Set()
  const embedded = context.embed(rollouts.map(({ text }) => text))
  const isNear = (a: number, b: number): boolean =>
    1 - similarity(embedded[a]!, embedded[b]!) < distance || rollouts[a]!.text === rollouts[b]!.text
  const indexes = rollouts.map((_, i) => i)
  return new Set(indexes.filter((i) => indexes.every((j) => right[i] === right[j] || isNear(i, j))))
}
