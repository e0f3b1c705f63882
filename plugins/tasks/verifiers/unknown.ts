// unknown: the answers are not known. Every answer scores 0, so the verifier gives such groups no signal: they are sent
// only to show peers how this node writes, and evaluating them is meaningless. A plugin that sets its own rewards, such as `scope_like`, can learn
// from them.

import type { Verifier } from './verifier.ts'

export const unknown: Verifier = {
  name: 'unknown',
  summary:
    'For questions without answers: scores 0. Rows need no `answer`; a plugin has to give rewards, as `scope_like` does',
  keys: [],
  settings: () => ({}),
  key: () => undefined,
  accepts: () => false,
}
