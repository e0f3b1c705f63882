// What a person reads about the exchange of weights.

import { expect, test } from 'vitest'
import { headsText, metText, type WeightsMet } from '../../protocol/api/index.ts'

const program = 'waggle'
const peer = { peer: '12D3', version: 8, groups: 40, at: 0, isClipped: false }
const info = {
  lineage: 'ab'.repeat(32),
  ...{ size: 1_000_000, exchanges: 3, refused: 0, bytesIn: 2_000_000, bytesOut: 1_000_000 },
  peers: [peer, { ...peer, groups: 2 }],
}

test('status counts peers and their groups', () => {
  expect(headsText(info)).toBe('averaged with 2 peers, who learnt from 42 groups; in 2.00 MB, out 1.00 MB')
})

test('status says so while no weights have come', () => {
  expect(headsText({ ...info, peers: [] })).toMatch(/^averaged with no peer yet;/)
})

test('status says what catching up brought', () => {
  const caughtUp = { peer: 'a', before: 0.09, after: 0.21, isTaken: true, at: 0 }
  expect(headsText({ ...info, caughtUp })).toMatch(/; caught up: held-out 9\.0 % → 21\.0 %$/)
})

test.each<[WeightsMet, RegExp]>([
  [
    { outcome: 'caught up', before: 0.09, after: 0.21 },
    /^caught up with the swarm: held-out 9\.0 % → 21\.0 %$/,
  ],
  [{ outcome: 'averaged', peers: 1 }, /^averages its weights with 1 peer from now on$/],
  [{ outcome: 'given back', before: 0.2, after: 0.1, peers: 1 }, /^kept its own weights/],
  [{ outcome: 'untrusted' }, /`waggle set swarm\.trust=…`/],
  [{ outcome: 'other lineage' }, /trains another one/],
  [{ outcome: 'off' }, /neither sends nor takes/],
  [{ outcome: 'not yet' }, /had not come in time/],
])('join says what became of the weights: %o', (met, text) => {
  expect(metText(met, { program })).toMatch(text)
})
