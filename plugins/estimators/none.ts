// No estimator: the policy is not trained, and what a node learns is in its plugins' own state, such as a library of
// experiences that is shown with every question.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'

export default definePlugin({
  name: 'none',
  kind: 'estimator',
  api: 1,
  summary: 'Does not train the policy; for methods that need no gradient.',
  settings: z.strictObject({}),
  manifest: { update: false, signal: 'any' },
  create: () => ({
    advantage: (groups) => groups.map(({ rollouts }) => rollouts.map(() => 0)),
  }),
})
