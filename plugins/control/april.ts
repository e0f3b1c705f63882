// APRIL (active partial rollouts, arXiv 2509.18521): starts more groups than needed. As soon as enough of
// them are done, it parks the others with their partial rollouts and continues them in the next round, so no
// round waits for its longest answers.
//
// The paper's ratio is 1.5 to 2; 2 is the default. A group is done when all its rollouts are. The scheduler
// starts the next round with the parked groups, oldest first, and limits their age. The paper discards surplus
// finished groups; here they are parked whole and count as done at the start of the next round. A rollout can
// therefore contain tokens of several policy versions. Its tokens keep their versions and log-probs, so
// corrections such as `tis` can account for them.

import { z } from 'zod'
import { definePlugin, type LiveRollout, type Steering, type SteerView } from '../../protocol/plugin/index.ts'

const settings = z.strictObject({
  /** Groups started per group needed. */
  ratio: z.number().min(1).max(16).default(2),
})

export default definePlugin({
  name: 'april',
  kind: 'control',
  api: 1,
  summary: 'Starts more groups than needed and parks the slow ones.',
  settings,
  manifest: { needs: ['park'], claims: ['flow'] },
  create: ({ ratio }) => ({
    oversample: (want) => Math.ceil(ratio * want),
    steer(live, view, context) {
      const parked = setAside(live, view)
      if (parked.size > 0) {
        const started = live.filter(({ id, fresh }) => parked.has(id) && fresh > 0).length
        context.metric('parked', started)
      }
      return parked
    },
  }),
})

/** Parks everything except the first `want` finished groups, once that many have finished. */
export function setAside(live: readonly LiveRollout[], { asks, want }: SteerView): Map<string, Steering> {
  const done = asks.flatMap((ask, index) => (ask.live === 0 && ask.done > 0 ? [index] : []))
  if (done.length < want) return new Map()
  const kept = new Set(done.slice(0, want))
  return new Map(live.filter(({ ask }) => !kept.has(ask)).map(({ id }) => [id, 'park']))
}
