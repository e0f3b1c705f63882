// What it costs to get to an accuracy, and how costs are compared, on curves made by hand.

import { describe, expect, test } from 'vitest'
import { costTo, ratioOf, showRatio } from '../../scripts/lab/frame/reach.ts'

const curve = (...accuracies: number[]) => accuracies.map((accuracy, i) => ({ cost: 10 * i, accuracy }))

describe('the cost to a target', () => {
  test('is read from means of three looks, between looks by a straight line', () => {
    // Means: 0.1 at cost 10, 0.2 at cost 20.
    const { cost, isBound } = costTo(0.15, curve(0.1, 0.1, 0.1, 0.4))
    expect(cost).toBeCloseTo(15)
    expect(isBound).toBe(false)
  })
  test('is at least what was spent where the target is never reached', () => {
    expect(costTo(0.5, curve(0.1, 0.1, 0.1, 0.1))).toEqual({ cost: 30, isBound: true })
  })
})

describe('the ratio of two costs', () => {
  const pair = (over: number, under: number, bound = false) => ({
    over: { cost: over, isBound: bound },
    under: { cost: under, isBound: false },
  })
  test('is a geometric mean over seeds', () => {
    expect(ratioOf([pair(4, 1), pair(1, 1)])?.mean).toBeCloseTo(2)
  })
  test('counts a seed that never arrived, and says that it is a bound', () => {
    const ratio = ratioOf([pair(2, 1), pair(2, 1, true)])
    expect(ratio).toMatchObject({ seeds: 2, below: 1, above: 0 })
    expect(showRatio(ratio)).toContain('1 at least')
  })
  test('is unknown where neither arrived', () => {
    const none = { cost: 1, isBound: true }
    expect(ratioOf([{ over: none, under: none }])).toBeUndefined()
  })
})
