// What a person reads about the exchange of weights.

import { expect, test } from 'vitest'
import { type HeadTrial, headsText, metText, type WeightsMet } from '../../protocol/api/index.ts'

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
  [{ outcome: 'untrusted' }, /`waggle set swarm\.trust=…`/],
  [{ outcome: 'other lineage' }, /trains another one/],
  [{ outcome: 'off' }, /neither sends nor takes/],
  [{ outcome: 'not yet' }, /had not come in time/],
])('join says what became of the weights: %o', (met, text) => {
  expect(metText(met, { program })).toMatch(text)
})
