// What to do about answers that grow towards the length limit: DAPO's soft punishment, or leaving cut ones out.
//
// Yu et al. 2025 (DAPO): over the last `buffer` tokens before `limit` the reward falls linearly by up to `penalty`,
// and no further beyond it, as in the paper (the code has no floor); 20480, 4096 and 1 are its values. `filter` takes
// rollouts that ended for their length out of their group instead: a cut answer is not known to be wrong. A replayed
// rollout keeps the reward that it was stored with: what has been punished is not punished again.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import type { Rollout } from '../../protocol/train/index.ts'

const settings = z
  .strictObject({
    mode: z.enum(['soft', 'filter']).default('soft'),
    /** In tokens. */
    limit: z.int().positive().default(20_480),
    buffer: z.int().positive().default(4096),
    penalty: z.number().nonnegative().default(1),
  })
  .refine(({ limit, buffer }) => buffer <= limit, { message: 'the buffer is longer than the limit' })

export default definePlugin({
  name: 'overlong',
  kind: 'correction',
  api: 1,
  summary: 'Punishes or leaves out answers that run into the length limit.',
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
