import { expect, test } from 'vitest'
import { REASON_NAMES } from '../../daemon/swarm/admission/reasons.ts'
import { refusalsText, refusalText } from '../../protocol/api/index.ts'

test('every reason reads as words', () => {
  for (const reason of REASON_NAMES) expect(refusalText(reason)).toMatch(/^[a-z][a-z -]*(, [a-z ]+)?$/)
})

test('refusals are told most common first, in words', () => {
  const refused = { zeroSignal: 3, stale: 1200, copy: 0, 'of another version': 7 }
  expect(refusalsText(refused)).toBe('too old 1,200, of another version 7, no signal 3')
  expect(refusalsText(refused, 1)).toBe('too old 1,200')
  expect(refusalsText({ copy: 0 })).toBe('')
})
