// APRIL: more groups are begun than are wanted, and as soon as enough of them are done, the others are set aside with what they
// have and gone on with in the next round. No round waits for its longest answers.
//
// Active partial rollouts (arXiv 2509.18521), with its ratio of 2 (it uses 1.5 to 2). A group is done when all its
// rollouts are. Groups that were set aside come first in the next round, oldest first: the scheduler sees to it, and to how
// old they may get. Other than there, a group that is done when there are enough already is not thrown away: it is
// set aside whole, and is done at once in the next round. A rollout may thus be of several versions; its tokens keep
// their versions and log-probs, so that corrections such as `tis` see them.

import { z } from 'zod'
import { definePlugin, type LiveRollout, type Steering, type SteerView } from '../../protocol/plugin/index.ts'

const settings = z.strictObject({
  /** Groups begun for each that is wanted. */
  ratio: z.number().min(1).max(16).default(2),
})

export default definePlugin({
  name: 'april',
  kind: 'control',
  api: 1,
  summary: 'Begins more groups than wanted; sets the slow ones aside.',
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

/** Everything but the first `want` groups that are done, once there are so many. */
export function setAside(live: readonly LiveRollout[], { asks, want }: SteerView): Map<string, Steering> {
  const done = asks.flatMap((ask, index) => (ask.live === 0 && ask.done > 0 ? [index] : []))
  if (done.length < want) return new Map()
  const kept = new Set(done.slice(0, want))
  return new Map(live.filter(({ ask }) => !kept.has(ask)).map(({ id }) => [id, 'park']))
}
