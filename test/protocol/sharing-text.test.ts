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
  cost: 0,
  contributors: [],
}

test.each<[string, Partial<SharingInfo>, string]>([
  [
    'tells how far from a verdict it is',
    { comparisons: 3, weight: 0.5 },
    'not yet known whether foreign groups help: compared 3 times, needs 12; meanwhile a batch takes 16 of at most 16 foreign groups',
  ],
  [
    'says of groups that weigh little that they do, which is why they are fewer',
    { effect: -0.8, high: 0.3, foreign: 4, weight: 0.1 },
    'not yet known whether foreign groups help: compared 40 times, still unclear, so far -80 % (95 %: no lower end to +30); meanwhile a batch takes 4 of at most 16 foreign groups, and each counts 10 % of an own one',
  ],
  [
    'tells what peers bring, with its interval',
    { verdict: 'helps', effect: 0.35, low: 0.12, high: 0.6 },
    'helps: foreign groups bring +35 % (95 %: +12 to +60) progress for the same compute; a batch takes 16 of at most 16 foreign groups',
  ],
  [
    'tells what they cost',
    { verdict: 'hurts', effect: -1.2, low: -1.6, high: -0.4, foreign: 0, weight: 0 },
    'hurts: foreign groups bring -120 % (95 %: -160 to -40) progress for the same compute; a batch takes 0 of at most 16 foreign groups, and each counts 0 % of an own one',
  ],
  [
    'tells when it makes no difference',
    { verdict: 'no difference', effect: 0.01, low: -0.05, high: 0.06 },
    'makes no difference: +1 % (95 %: -5 to +6); a batch takes 16 of at most 16 foreign groups',
  ],
])('%s', (_, given, text) => {
  expect(sharingText({ ...sharing, ...given })).toBe(text)
})
