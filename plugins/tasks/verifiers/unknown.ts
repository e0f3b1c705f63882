// unknown: nobody knows the answers. Every answer scores 0, so such groups have no signal by the verifier: they are never
// shared, and their evaluations say nothing. A plugin that gives rewards of its own, such as `scope_like`, learns from
// them.

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
