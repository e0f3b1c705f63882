// Guards against the one thing in a peer's rollouts that is dangerous: negative advantages on unlikely tokens.
//
// Pushing a token down pushes every other up, and nothing bounds that (estimators.md 8.4). So a peer's token with a
// negative advantage weighs at most 1, as TOPR has it: beside `tis`, which has the ratio in it already, `cap` takes
// off what is above 1; with no other weight, `alone` puts min(ratio, 1). A share of everything foreign can be taken
// off too. This node's own tokens are left as they are.

import { z } from 'zod'
import {
  column,
  detach,
  type Expression,
  less,
  min,
  mul,
  ratio,
  where,
} from '../../protocol/plugin/expression.ts'
import { type Correction, definePlugin } from '../../protocol/plugin/index.ts'
import { ADVANTAGE, KNOWN } from './anchors.ts'

const settings = z.strictObject({
  /** Factor on every foreign token. */
  weight: z.number().min(0).max(1).default(1),
  /** Factor on top for foreign tokens with a negative advantage. */
  negative: z.number().min(0).max(1).default(1),
  taper: z.enum(['cap', 'alone', 'off']).default('cap'),
})

export default definePlugin({
  name: 'foreign',
  kind: 'correction',
  api: 1,
  summary: 'Tapers the negative advantages of what peers wrote.',
  settings,
  create: ({ weight, negative, taper }) => ({
    correct(): Correction {
      const foreign = column('foreign')
      const [proximal, behaviour] = [column('proximal'), column('behaviour')]
      const tapers: Record<typeof taper, Expression> = {
        cap: min(ratio(behaviour, proximal), 1),
        alone: min(ratio(proximal, behaviour), 1),
        off: 1,
      }
      const tapered = where(KNOWN, tapers[taper], 1)
      const factor = where(less(ADVANTAGE, 0), mul(negative, tapered), 1)
      return {
        weight: detach(where(foreign, mul(weight, factor), 1)),
        metrics: { share: foreign, negative: mul(foreign, less(ADVANTAGE, 0)) },
      }
    },
  }),
})
