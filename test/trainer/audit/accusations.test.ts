// Which accusations are checked, and what follows from what was computed.

import { describe, expect, test } from 'vitest'
import {
  createAccusations,
  type Finding,
  findingOf,
  isProof,
} from '../../../daemon/trainer/audit/accusations.ts'
import type { Verdict } from '../../../daemon/trainer/audit/audit.ts'
import { SAME } from '../../../daemon/trainer/audit/compare.ts'
import type { Accusation } from '../../../protocol/wire/index.ts'
import { receipt as described } from '../../protocol/wire/receipts.ts'

const LINEAGE = 'ab'.repeat(32)
const HOUR_MS = 3_600_000
const accusation = (author: string, more: Partial<Accusation> = {}): Accusation => ({
  ...{ lineage: LINEAGE, accused: 'forger', receipt: '5a'.repeat(32), size: 9, step: 1, createdAt: 0 },
  ...{ author, ...more },
})
const create = (known: readonly string[] = []) =>
  createAccusations(
    { self: 'me', lineage: LINEAGE },
    { random: () => 0.99, isKnown: (peer) => known.includes(peer) },
  )
const all = () => true

describe('an accusation', () => {
  test.each<[string, Partial<Accusation>]>([
    ['of this node', { accused: 'me' }],
    ['of its own author', { accused: 'a' }],
    ['of another lineage', { lineage: 'cd'.repeat(32) }],
  ])('%s is ignored', (_, more) => {
    const accusations = create()
    accusations.take(accusation('a', more))
    expect(accusations.next(all, 0)).toBeUndefined()
  })

  test('of a peer whose weights count for nothing here is dropped, and costs no check', () => {
    const accusations = create()
    for (let i = 0; i < 5; i++) accusations.take(accusation(`a${i}`))
    expect(accusations.next(() => false, 0)).toBeUndefined()
    accusations.take(accusation('b'))
    expect(accusations.next(all, 0)).toMatchObject({ author: 'b' })
  })

  test('costs two checks an hour, whoever accuses, and known accusers go first', () => {
    const accusations = create(['friend'])
    for (const author of ['friend', ...Array.from({ length: 200 }, (_, i) => `sybil ${i}`)])
      accusations.take(accusation(author, { receipt: author.padEnd(64, '0') }))
    expect(accusations.next(all, 0)).toMatchObject({ author: 'friend' })
    expect(accusations.next(all, 1)).toBeDefined()
    expect(accusations.next(all, HOUR_MS - 1)).toBeUndefined()
    expect(accusations.next(all, HOUR_MS + 1)).toBeDefined()
  })

  test.each<[Finding, string, boolean]>([
    ['proved', 'b', false],
    ['false', 'b', false],
    ['known', 'b', false],
    // Another accuser may have what this one does not give.
    ['open', 'b', true],
    ['open', 'a', true],
  ])('that was found %s, said again by %s, is checked again: %s', (finding, author, isAgain) => {
    const accusations = create()
    accusations.take(accusation('a'))
    accusations.ended(accusations.next(all, 0)!, finding)
    accusations.take(accusation(author))
    expect(accusations.next(all, 0) !== undefined).toBe(isAgain)
  })

  test('by somebody who accused falsely is not heard again', () => {
    const accusations = create()
    accusations.take(accusation('liar'))
    accusations.ended(accusations.next(all, 0)!, 'false')
    accusations.take(accusation('liar', { accused: 'another' }))
    expect(accusations.next(all, 0)).toBeUndefined()
  })
})

test('a step is judged once, whichever receipt names it', () => {
  const accusations = create()
  const one = { ...described, author: 'forger' }
  accusations.judged(one, one.steps[0])
  expect(accusations.isJudged({ ...one, createdAt: 5 }, one.steps[0])).toBe(true)
  expect(accusations.isJudged(one, one.steps[1])).toBe(false)
  expect(accusations.isJudged({ ...one, author: 'another' }, one.steps[0])).toBe(false)
})

describe('what was computed', () => {
  const apart = (movement: number) => ({ ...SAME, movement })
  const passed = (movement: number): Verdict => ({
    outcome: 'passed',
    isSame: false,
    difference: apart(movement),
  })
  const failed = (movement: number): Verdict => ({ outcome: 'failed', what: '', difference: apart(movement) })
  const contradiction: Verdict = { outcome: 'failed', what: 'its batch cannot be read' }

  test.each<[string, Verdict, boolean, Finding]>([
    ['the same bits', passed(0), false, 'false'],
    ['far within the tolerance', passed(0.0024), false, 'false'],
    ['near the tolerance', passed(0.0026), false, 'open'],
    ['just beyond it', failed(0.0099), false, 'proved'],
    ['twice as far', failed(0.0101), true, 'proved'],
    ['a receipt that contradicts itself', contradiction, true, 'proved'],
    ['what cannot be computed here', { outcome: 'unauditable', why: '' }, false, 'open'],
    ['what does not come', { outcome: 'unserved', what: '' }, false, 'open'],
  ])('%s: whether this node accuses is %s, an accusation is %s', (_, verdict, accuses, finding) => {
    expect(isProof(verdict)).toBe(accuses)
    expect(findingOf(verdict)).toBe(finding)
  })
})
