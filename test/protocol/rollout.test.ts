import { expect, test } from 'vitest'
import { isShareable, scoresOf } from '../../protocol/train/index.ts'
import { groupOf, rolloutOf } from '../plugins/samples.ts'

test('accuracy is what the verifier gave for what was written unaided', () => {
  const shaped = rolloutOf(1.5, 1, { taskReward: 1 })
  expect(scoresOf(groupOf([0, shaped]))).toEqual([0, 1])
  expect(scoresOf(groupOf([0, rolloutOf(1, 1, { replayed: 1 })]))).toEqual([0])
  expect(scoresOf(groupOf([1, 1], { arm: 'skill' }))).toEqual([1, 1])
  expect(scoresOf(groupOf([1, 1], { arm: 'hint', tainted: true }))).toEqual([])
})

test('peers get only what was asked as they would ask it, and written just now', () => {
  expect(isShareable(groupOf([1, 0]))).toBe(true)
  expect(isShareable(groupOf([1, 0], { arm: 'hint' }))).toBe(false)
  expect(isShareable(groupOf([1, 0], { tainted: true }))).toBe(false)
  for (const more of [{ replayed: 0 }, { conditioning: Int32Array.of(1) }, { arm: 'hint' }])
    expect(isShareable(groupOf([1, rolloutOf(0, 1, more)]))).toBe(false)
  expect(isShareable(groupOf([1, rolloutOf(0, 1, { taskReward: 0.5, arm: 'base' })]))).toBe(true)
  // What a plugin made of the rewards stays here: with the verifier's alone there is nothing to learn from.
  expect(isShareable(groupOf([1, rolloutOf(0, 1, { taskReward: 1 })]))).toBe(false)
  expect(isShareable(groupOf([0, 0], { always: true }))).toBe(false)
})
