// What a person reads about the exchange of weights.

import { expect, test } from 'vitest'
import {
  type HeadTrial,
  headsText,
  METRICS,
  metText,
  type Snapshot,
  taughtText,
  type WeightsMet,
  weightsLimitText,
} from '../../protocol/api/index.ts'

const program = 'waggle'
const peer = { peer: '12D3', version: 8, groups: 40, at: 0, isClipped: false }
const info = {
  lineage: 'ab'.repeat(32),
  ...{ size: 1_000_000, exchanges: 3, refused: 0, bytesIn: 2_000_000, bytesOut: 1_000_000 },
  peers: [peer, { ...peer, groups: 2 }],
  out: [],
}

test('status counts peers and their groups', () => {
  expect(headsText(info)).toBe('averaged with 2 peers, who learnt from 42 groups; in 2.00 MB, out 1.00 MB')
})

test('status says so while no weights have come', () => {
  expect(headsText({ ...info, peers: [] })).toMatch(/^averaged with no peer yet;/)
})

const trial: HeadTrial = {
  ...{ how: 'caught up', peers: ['a'], before: 0.09, after: 0.21, isTaken: true, at: 0 },
}

test('status says what catching up or a merge brought', () => {
  expect(headsText({ ...info, trial })).toMatch(/; caught up with 1 peer: held-out 9\.0 % → 21\.0 %$/)
  const merged: HeadTrial = { ...trial, how: 'merged', peers: ['a', 'b'] }
  expect(headsText({ ...info, trial: merged })).toMatch(/; merged with 2 peers: held-out 9\.0 % → 21\.0 %$/)
})

test('status names the task for which weights were refused', () => {
  const fallen = { task: 'number_sorting', before: 0.41, after: 0.3 }
  expect(headsText({ ...info, trial: { ...trial, isTaken: false, fallen } })).toMatch(
    /; refused weights of 1 peer: number_sorting fell from 41\.0 % to 30\.0 %$/,
  )
})

test.each([
  [
    213_000,
    "one peer's weights (213 kB) 46 times an hour beyond the local network; set 13 for 60 times, 0 for no limit",
  ],
  [
    4_900_000,
    "one peer's weights (4.90 MB) 2 times an hour beyond the local network; set 294 for 60 times, 0 for no limit",
  ],
  [
    6_000_000,
    "one peer's weights (6.00 MB) once an hour beyond the local network; set 360 for 60 times, 0 for no limit",
  ],
  [
    60_000_000,
    'no weights at all, which take 60.0 MB, beyond the local network; set 3600 for 60 times, 0 for no limit',
  ],
])('a limit is told in times an hour, and with what can be typed: %i bytes', (size, text) => {
  expect(weightsLimitText({ size, mostPerHour: 1e7 })).toBe(`limits.weights_mb_per_hour = 10 allows ${text}`)
})

test('nobody is told to set less than a limit that allows more than sixty times an hour', () => {
  expect(weightsLimitText({ size: 100_000, mostPerHour: 1e7 })).toMatch(
    /100 times an hour .*; 0 is no limit$/,
  )
})

test('status says how many weights the limit held back, once it has', () => {
  expect(headsText({ ...info, limit: { mostPerHour: 1e7, held: 0 } })).not.toMatch(/held back/)
  expect(headsText({ ...info, limit: { mostPerHour: 1e7, held: 3 } })).toMatch(
    /; 3 held back by limits\.weights_mb_per_hour$/,
  )
})

test('status says that weights are being tried, and how far that is', () => {
  expect(
    headsText({ ...info, trial, trying: { how: 'merged', peers: ['a', 'b'], fraction: 0.409 } }),
  ).toMatch(/MB; trying weights of 2 peers while training goes on: 40 % of the questions answered$/)
})

test('status says why a model could not answer with the weights', () => {
  expect(headsText({ ...info, trial: { ...trial, isTaken: false, failure: 'no number' } })).toMatch(
    /; refused weights of 1 peer: the model cannot answer with them: no number$/,
  )
})

test.each<[WeightsMet, RegExp]>([
  [
    { outcome: 'caught up', before: 0.09, after: 0.21 },
    /^caught up with the swarm: held-out 9\.0 % → 21\.0 %$/,
  ],
  [{ outcome: 'averaged', peers: 1 }, /^averages its weights with 1 peer from now on$/],
  [{ outcome: 'given back', before: 0.2, after: 0.1, peers: 1 }, /^kept its own weights/],
  [
    { outcome: 'given back', fallen: { task: 'sums', before: 0.4, after: 0.3 } },
    /own weights: with the peer's, sums fell from 40\.0 % to 30\.0 %$/,
  ],
  [{ outcome: 'merged', before: 0.2, after: 0.25 }, /^merged its weights/],
  [{ outcome: 'on trial' }, /^tries the peer's weights .* `waggle status` says how far$/],
  [{ outcome: 'untrusted' }, /`waggle set swarm\.trust=…`/],
  [{ outcome: 'other lineage' }, /trains another one/],
  [{ outcome: 'off' }, /neither sends nor takes/],
  [{ outcome: 'not yet' }, /had not come in time/],
  [{ outcome: 'not yet', why: 'limit' }, /limits\.weights_mb_per_hour is used up/],
  [{ outcome: 'not yet', why: 'no answer' }, /sent no weights when it was asked/],
  [{ outcome: 'not yet', why: 'behind' }, /less work behind its weights/],
])('join says what became of the weights: %o', (met, text) => {
  expect(metText(met, { program })).toMatch(text)
})

test('what a person reads of a teacher are the values of its metrics', () => {
  const taught = [
    { task: 'sums', teacher: 'peer/a', weight: 0.5, scores: { theirs: 0.6, own: 0.4 }, tokens: 12_480 },
    { task: 'sorting', teacher: 'begin', weight: 0, tokens: 20 },
  ]
  const snapshot = { plugins: [{ kind: 'correction', name: 'teachers', state: 'ok', taught }] } as Snapshot
  const read = (name: string) => METRICS.find((metric) => metric.name === name)!.read(snapshot)
  const labels = taught.map(({ task, teacher }) => ({ task, teacher }))
  expect(read('waggle_taught_weight')).toEqual([
    { labels: labels[0], value: 0.5 },
    { labels: labels[1], value: 0 },
  ])
  expect(read('waggle_taught_tokens_total')).toEqual([
    { labels: labels[0], value: 12_480 },
    { labels: labels[1], value: 20 },
  ])
  expect(taughtText(taught[0]!)).toBe('sums from peer/a: 60 %, own 40 %; weight 0.50; 12.5 k tokens')
})
