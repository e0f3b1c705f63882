import { describe, expect, test } from 'vitest'
import {
  type Evaluation,
  learntText,
  type RolloutInfo,
  type SharingInfo,
  sharingText,
} from '../../protocol/api/index.ts'

const sharing: SharingInfo = {
  unit: 'of the progress that the same compute on own groups brings',
  comparisons: 40,
  needed: 12,
  own: 16,
  foreign: 16,
  limit: 16,
  verdict: 'not yet known',
  last: { own: 2, foreign: 14, peers: 7 },
  cost: 0,
  contributors: [],
}

test.each<[string, Partial<SharingInfo>, string]>([
  [
    'how many comparisons there are of those that are needed',
    { comparisons: 4 },
    "not yet known whether peers' groups hurt: 4 of at least 12 comparisons",
  ],
  ['that enough do not tell', {}, "not yet known whether peers' groups hurt: 40 comparisons do not tell"],
  [
    'that peers do not hurt',
    { verdict: 'helps' },
    "peers' groups do not hurt: they bring more than own ones for the same compute",
  ],
  [
    'that they bring as much',
    { verdict: 'no difference' },
    "peers' groups do not hurt: they bring about as much as own ones for the same compute",
  ],
  [
    'what to do about peers that hurt',
    { verdict: 'hurts' },
    "peers' groups hurt: they bring less than own ones for the same compute; `set training.max_peer_groups=0` trains on own groups only",
  ],
  [
    'that the node has stopped training on them',
    { verdict: 'hurts', foreign: 0 },
    "peers' groups hurt, so the node does not train on them; it tries some now and then",
  ],
])('sharing says %s', (_, given, text) => {
  expect(sharingText({ ...sharing, ...given })).toBe(text)
})

describe('what a model has learnt from', () => {
  const rollouts = {
    ...{ trainedOwn: 1204, trainedForeign: 1510, trainedPeers: 7 },
    trainedLastHour: { own: 120, foreign: 1, peers: 1 },
  } as RolloutInfo
  const at = (step: number, accuracy: number): Evaluation => ({
    ...{ time: 0, step, version: step, accuracy, tasks: {}, prompts: 200 },
  })

  test.each<[string, Partial<RolloutInfo>, Evaluation[], string]>([
    [
      'a rise beyond chance',
      {},
      [at(0, 0.12), at(40, 0.2), at(90, 0.31)],
      'from 1,204 own groups and 1,510 of 7 peers; in the last hour 120 own groups and 1 of 1 peer; held-out accuracy rose by 19 points since step 0',
    ],
    [
      'a fall beyond chance, alone',
      { trainedForeign: 0, trainedPeers: 0, trainedLastHour: { own: 1, foreign: 0, peers: 0 } },
      [at(10, 0.31), at(90, 0.12)],
      'from 1,204 own groups; in the last hour 1 own group; held-out accuracy fell by 19 points since step 10',
    ],
    [
      'no move beyond chance, of an older node',
      { trainedPeers: 0, trainedLastHour: undefined as never },
      [at(0, 0.12), at(90, 0.14)],
      'from 1,204 own groups and 1,510 of peers; held-out accuracy has not clearly moved since step 0',
    ],
    [
      'one evaluation',
      { trainedForeign: 0, trainedLastHour: undefined as never },
      [at(0, 0.12)],
      'from 1,204 own groups; held-out accuracy not compared yet',
    ],
    ['nothing', { trainedOwn: 0, trainedForeign: 0 }, [], 'nothing yet'],
  ])('is told with %s', (_, given, evaluations, text) => {
    expect(learntText({ rollouts: { ...rollouts, ...given }, evaluations })).toBe(text)
  })
})
