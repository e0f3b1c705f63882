// No estimator: the policy is not trained. The node learns only through its plugins' state, such as a library of
// experiences shown with every question.

import { z } from 'zod'
import { defineEstimator } from './shared/estimator.ts'

export default defineEstimator({
  name: 'none',
  summary: 'Does not train the policy; for methods that need no gradient.',
  settings: z.strictObject({}),
  manifest: { update: false, signal: 'any' },
  create: () => ({
    advantage: (groups) => groups.map(({ rollouts }) => rollouts.map(() => 0)),
  }),
})
