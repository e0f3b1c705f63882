// Handles answers that approach the length limit: by DAPO's soft penalty, or by leaving out truncated ones.
//
// Yu et al. 2025 (DAPO): over the last `buffer` tokens before `limit` the reward falls linearly by up to
// `penalty`, and no further beyond the limit, as in the paper (its code has no lower bound). The paper's values
// are 20480, 4096 and 1. `filter` instead removes rollouts that ended because of their length, since it is unknown
// whether a truncated answer would have been wrong. A replayed rollout keeps its stored reward, so it is not
// penalised twice.

import { z } from 'zod'
import { definePlugin } from '../../../protocol/plugin/index.ts'
import type { Rollout } from '../../../protocol/train/index.ts'

const settings = z
  .strictObject({
    mode: z.enum(['soft', 'filter']).default('soft'),
    /** Length limit in tokens. */
    limit: z.int().positive().default(20_480),
    buffer: z.int().positive().default(4096),
    penalty: z.number().nonnegative().default(1),
  })
  .refine(({ limit, buffer }) => buffer <= limit, { message: 'buffer must not be longer than limit' })

export default definePlugin({
  name: 'overlong',
  kind: 'correction',
  api: 1,
  summary: 'Penalises or removes answers that reach the length limit.',
  settings,
  create: ({ mode, limit, buffer, penalty }) => ({
    group(groups, _view, context) {
      let touched = 0
      const shaped = ({ tokens, reward, ...rest }: Rollout): Rollout => {
        if (rest.replayed !== undefined) return { ...rest, tokens, reward }
        const over = Math.max(0, Math.min(1, (tokens.length - (limit - buffer)) / buffer))
        if (over > 0) touched++
        return { ...rest, tokens, reward: reward - penalty * over }
      }
      const changed = groups.map((group) => {
        const whole = group.rollouts.filter(({ finish }) => finish !== 'length')
        if (mode === 'filter') touched += group.rollouts.length - whole.length
        return { ...group, rollouts: mode === 'filter' ? whole : group.rollouts.map(shaped) }
      })
      context.metric('touched', touched)
      return changed.filter(({ rollouts }) => rollouts.length > 0)
    },
  }),
})
