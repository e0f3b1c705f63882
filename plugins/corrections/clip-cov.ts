// Clip-Cov: leaves a few tokens out of the update whose advantage and log-prob rise together, since these are what uses up a
// policy's entropy.
//
// Cui et al. 2025 (The Entropy Mechanism of Reinforcement Learning, arXiv 2505.22617), constants of verl: of the tokens with
// (A - mean A)(log pi - mean log pi) between 1 and 5, means over all tokens, a random 2e-4 of all tokens, one at
// least, teach nothing. Log-probs are those of the policy before the update, from a scoring pass. In a batch of one
// step nothing is clipped at that point, so tokens that are clipped anyway need not be told apart. KL-Cov, its
// companion, is not here: its penalty has no gradient in the only step of a batch.

import { z } from 'zod'
import { type Advantages, definePlugin } from '../../protocol/plugin/index.ts'

const settings = z.strictObject({
  share: z.number().positive().max(1).default(2e-4),
  low: z.number().default(1),
  high: z.number().default(5),
})

export default definePlugin({
  name: 'clip_cov',
  kind: 'correction',
  api: 1,
  summary: 'Spares a few tokens that would use up entropy.',
  settings,
  manifest: { needs: ['score'] },
  create: ({ share, low, high }) => ({
    async modify(advantages, groups, context) {
      const rows = groups.flatMap((group, g) =>
        group.rollouts.map((rollout, r) => ({ group, rollout, g, r })),
      )
      const scored = await context.score(
        rows.map(({ group, rollout }) => ({
          conditioning: rollout.conditioning ?? group.conditioning,
          completion: rollout.tokens,
        })),
      )
      const tokens = rows.flatMap(({ rollout, g, r }, i) =>
        Array.from(rollout.tokens, (_, t) => ({
          g,
          r,
          t,
          advantage: valueAt(advantages[g]![r]!, t),
          logprob: scored[i]!.logprobs[t]!,
        })).filter(({ t }) => rollout.lossMask?.[t] !== 0),
      )
      const meanOf = (read: (token: (typeof tokens)[number]) => number): number =>
        tokens.reduce((sum, token) => sum + read(token), 0) / Math.max(1, tokens.length)
      const [advantage, logprob] = [meanOf((token) => token.advantage), meanOf((token) => token.logprob)]
      const open = tokens.filter((token) => {
        const product = (token.advantage - advantage) * (token.logprob - logprob)
        return product > low && product < high
      })
      const random = context.random(`tokens/${context.step}`)
      const changed: Advantages = advantages.map((row) => [...row])
      const count = Math.min(open.length, Math.max(1, Math.floor(share * tokens.length)))
      for (let i = 0; i < count; i++) {
        const [spared] = open.splice(Math.floor(random() * open.length), 1)
        const { g, r, t } = spared!
        const value = changed[g]![r]!
        const byToken =
          typeof value === 'number'
            ? new Float32Array(groups[g]!.rollouts[r]!.tokens.length).fill(value)
            : value.slice()
        byToken[t] = 0
        changed[g]![r] = byToken
      }
      context.metric('spared', count)
      return changed
    },
  }),
})

function valueAt(advantage: number | Float32Array, token: number): number {
  return typeof advantage === 'number' ? advantage : advantage[token]!
}
