import { describe, expect, it } from 'vitest'
import { rankRewards, structureOf, winsOf } from '../../../plugins/replay/ranking.ts'

describe('ranking of failures by their entropies', () => {
  const rows = [
    { peak: 2, mean: 0.5 },
    { peak: 1.5, mean: 0.8 },
    { peak: 1, mean: 1 },
    { peak: 1.8, mean: 0.9 },
  ]

  it('counts who is beaten on both, and ties share their places', () => {
    expect(winsOf(rows)).toEqual([3, 1, 0, 1])
    expect(rankRewards(winsOf(rows), 1)).toEqual([1, 0.5, 0, 0.5])
  })

  it('spreads the rewards evenly where there are no ties', () => {
    const expected = [1, 2 / 3, 1 / 3, 0].map((reward) => 0.5 * reward)
    for (const [i, reward] of rankRewards([3, 2, 1, 0], 0.5).entries())
      expect(reward).toBeCloseTo(expected[i]!, 12)
  })

  it('says the same whatever the order of the rollouts', () => {
    const order = [2, 0, 3, 1]
    const shuffled = rankRewards(winsOf(order.map((i) => rows[i]!)), 1)
    const straight = rankRewards(winsOf(rows), 1)
    expect(shuffled).toEqual(order.map((i) => straight[i]!))
  })

  it('says nothing where all are alike, or there is one', () => {
    expect(new Set(rankRewards(winsOf([rows[0], rows[0], rows[0]]), 1)).size).toBe(1)
    expect(rankRewards([0], 1)).toEqual([0])
  })

  it('takes the peak over a share of the tokens, at least one', () => {
    const entropies = Float32Array.of(1, 4, 2, 3, 0)
    expect(structureOf(entropies, 0.4)).toEqual({ peak: 3.5, mean: 2 })
    expect(structureOf(entropies, 0.01)).toEqual({ peak: 4, mean: 2 })
    expect(structureOf(new Float32Array(0), 0.2)).toBeUndefined()
    expect(winsOf([undefined, rows[2]])).toEqual([0, 0])
  })
})
