import { expect, test } from 'vitest'
import { addTrust, noTrust, STRANGER, weightOf } from '../../daemon/trainer/sharing/trust.ts'

const after = (updates: number, foreign: number, own = 0.3): number => {
  const trust = noTrust()
  for (let i = 0; i < updates; i++) addTrust(trust, foreign, own)
  return weightOf(trust, STRANGER, 10)
}

test('a stranger has half the weight', () => {
  expect(after(0, 0)).toBe(0.5)
})

test('who brings what own groups bring comes to have nearly all of it, and who brings nothing hardly any', () => {
  expect(after(10, 0.3)).toBeCloseTo(0.74, 1)
  expect(after(200, 0.3)).toBeGreaterThan(0.93)
  expect(after(20, 0)).toBeLessThan(0.2)
  expect(after(200, 0)).toBeLessThan(0.06)
})

test('it is never more than 1 nor less than 0', () => {
  expect(after(50, 3)).toBe(1)
  expect(after(50, -3)).toBe(0)
})

test('where own groups bring nothing either, the evidence of peers alone counts', () => {
  expect(after(30, 0.3, -0.5)).toBe(1)
  expect(after(30, -0.3, -0.5)).toBe(0)
})

test('an author of whom nothing is known is taken for what all peers are', () => {
  expect(weightOf(noTrust(), 0.1, 20)).toBeCloseTo(0.1, 9)
})
