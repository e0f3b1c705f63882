import { expect, test } from 'vitest'
import { REASON_NAMES } from '../../daemon/swarm/admission/reasons.ts'
import { adviceOn, refusalsText, refusalText, type Snapshot } from '../../protocol/api/index.ts'

test('every reason reads as words', () => {
  for (const reason of REASON_NAMES) expect(refusalText(reason)).toMatch(/^[a-z][a-z -]*(, [a-z ]+)?$/)
})

test('refusals are told most common first, in words', () => {
  const refused = { zeroSignal: 3, stale: 1200, copy: 0, 'of another version': 7 }
  expect(refusalsText(refused)).toBe('too old 1,200, of another version 7, no signal 3')
  expect(refusalsText(refused, 1)).toBe('too old 1,200')
  expect(refusalsText({ copy: 0 })).toBe('')
})

const adviceWith = (refused: Record<string, number>) =>
  adviceOn({ rollouts: { received: 100, verified: 40, refused } } as unknown as Snapshot).map(
    ({ text }) => text,
  )

test('known groups that a restarted node gets again are nothing to look after', () => {
  expect(adviceWith({ duplicate: 450, own: 50 })).toEqual([])
})

test('the share of refused groups is one of all that came, and below 100 %', () => {
  expect(adviceWith({ quota: 160 })).toEqual([
    "80 % of peers' groups are refused, most because: too many at once",
  ])
})
