import { expect, test } from 'vitest'
import { type SharingInfo, sharingText } from '../../protocol/api/index.ts'

const sharing: SharingInfo = {
  unit: 'of the progress that the same compute on own groups brings',
  comparisons: 40,
  needed: 12,
  own: 16,
  foreign: 16,
  limit: 16,
  weight: 0.9,
  verdict: 'not yet known',
  last: { own: 2, foreign: 14, peers: 7 },
  cost: 0,
  contributors: [],
}
const measured = { value: 2.42, low: 1.9, high: 3.1 }

test.each<[string, Partial<SharingInfo>, string]>([
  [
    'says what is measured, beside what is expected',
    { measured, expected: { value: 2.6, low: 1.5, high: 7.24 }, verdict: 'helps' },
    "7 peers: 2.4x (1.9 to 3.1) fewer own rollouts to the same progress; expected 2.6x (1.5 to 7.2); last step 2 own + 14 peers' groups; nothing to do",
  ],
  [
    'says where more peers would bring more',
    { measured, noise: { value: 120 } },
    "7 peers: 2.4x (1.9 to 3.1) fewer own rollouts to the same progress; last step 2 own + 14 peers' groups; nothing to do; more peers would bring more",
  ],
  [
    'says that a measurement is still unclear',
    { measured: { value: 1.2, low: 0.7, high: 1.9 }, last: { own: 9, foreign: 3, peers: 1 } },
    "1 peer: 1.2x (0.7 to 1.9) fewer own rollouts to the same progress, still unclear; last step 9 own + 3 peers' groups; nothing to do: keep it running until there is enough to compare",
  ],
  [
    'calls an expectation one, and leaves an end open that has none',
    { expected: { value: 12.3, low: 1.04 } },
    "7 peers: 12x (at least 1.0) fewer own rollouts to the same progress expected, not yet measured; last step 2 own + 14 peers' groups; nothing to do: keep it running until there is enough to compare",
  ],
  [
    'says that nothing is known yet',
    { last: { own: 16, foreign: 0, peers: 0 } },
    "not yet known what peers bring; last step 16 own + 0 peers' groups; nothing to do: keep it running until there is enough to compare",
  ],
  [
    'says what to do about peers that do harm',
    { verdict: 'hurts', measured: { value: 0.8, low: 0.6, high: 0.9 } },
    "7 peers: peers' groups make less progress than own ones for the same compute; last step 2 own + 14 peers' groups; `set training.foreign_groups=0` trains on own groups only",
  ],
  [
    'and that nothing is to be done where the node has stopped training on them',
    { verdict: 'hurts', foreign: 0, last: { own: 16, foreign: 0, peers: 0 } },
    "peers' groups make less progress than own ones for the same compute; last step 16 own + 0 peers' groups; nothing to do: the node trains on its own groups and only tries those of peers",
  ],
])('%s', (_, given, text) => {
  expect(sharingText({ ...sharing, ...given })).toBe(text)
})
