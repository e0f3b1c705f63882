// Whether sharing helps: intervals that hold while one looks, and what follows from them.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import {
  addPair,
  meanInterval,
  noPairs,
  ratioInterval,
  standardErrors,
} from '../../daemon/trainer/sharing/interval.ts'
import { createJudge, type Judge } from '../../daemon/trainer/sharing/judge.ts'

/** Standard normal numbers, by Box and Muller. */
function normals(name: string): () => number {
  const random = randomStream(7, name)
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

describe('intervals', () => {
  test('an interval that is looked at 300 times covers, where one for a single look does not', () => {
    const RUNS = 400
    let [missed, missedByT] = [0, 0]
    for (let run = 0; run < RUNS; run++) {
      const normal = normals(`run ${run}`)
      const pairs = noPairs()
      let [out, outByT] = [false, false]
      for (let i = 0; i < 300; i++) {
        addPair(pairs, 0.3 + normal(), 0)
        if (i < 2) continue
        const { low, high, value } = meanInterval(pairs, 0, 0.05)
        if (low > 0.3 || high < 0.3) out = true
        const variance = (pairs.xx - pairs.count * value * value) / (pairs.count - 1)
        if (Math.abs(value - 0.3) > 1.98 * Math.sqrt(variance / pairs.count)) outByT = true
      }
      if (out) missed += 1
      if (outByT) missedByT += 1
    }
    expect(missed / RUNS).toBeLessThan(0.05)
    expect(missedByT / RUNS).toBeGreaterThan(0.2)
  })

  test('an effect that is there is found, and sooner if it is larger', () => {
    const comparisons = (effect: number): number => {
      const [normal, pairs] = [normals(`effect ${effect}`), noPairs()]
      for (let i = 1; i <= 5000; i++) {
        addPair(pairs, effect + normal(), 0)
        if (i > 2 && meanInterval(pairs, 0, 0.05).low > 0) return i
      }
      return Number.POSITIVE_INFINITY
    }
    expect(comparisons(1)).toBeLessThan(60)
    expect(comparisons(0.3)).toBeLessThan(600)
    expect(comparisons(0.3)).toBeGreaterThan(comparisons(1))
  })

  test('too few pairs say nothing', () => {
    expect(standardErrors(2, 0.05)).toBe(Number.POSITIVE_INFINITY)
    const pairs = noPairs()
    for (const x of [1, 1.1]) addPair(pairs, x, 1)
    expect(meanInterval(pairs, 0, 0.05)).toMatchObject({ low: -Infinity, high: Infinity })
    expect(ratioInterval(pairs, 0.05)).toBeUndefined()
  })

  test('the ends of a ratio are where the difference stops to be told from 0', () => {
    const [normal, pairs] = [normals('ratio'), noPairs()]
    for (let i = 0; i < 200; i++) {
      const shared = normal()
      addPair(pairs, 2 + shared + 0.5 * normal(), 1 + 0.4 * shared)
    }
    const ratio = ratioInterval(pairs, 0.05)!
    expect(ratio.value).toBeCloseTo(pairs.x / pairs.y, 12)
    expect(meanInterval(pairs, ratio.low, 0.05).low).toBeCloseTo(0, 9)
    expect(meanInterval(pairs, ratio.high, 0.05).high).toBeCloseTo(0, 9)
    expect(ratio.low).toBeLessThan(2)
    expect(ratio.high).toBeGreaterThan(2)
  })
})

describe('the judge', () => {
  const feed = (judge: Judge, updates: number, worth: number, name = 'feed'): (object | undefined)[] => {
    const normal = normals(name)
    return Array.from({ length: updates }, () => {
      const { foreign, learn } = judge.next()
      if (foreign === 0) return judge.spent(10) as undefined
      const own = { gain: 1 + 0.5 * normal(), cost: 10 }
      // Costs half of what own groups cost.
      return judge.observe(own, { gain: 0.5 * worth + 0.5 * normal(), cost: 5 }, learn)
    })
  }

  test('leaves J at its limit while foreign groups bring more than own ones, and says so', () => {
    const judge = createJudge({ settings: () => ({ limit: 16 }), adaptive: true })
    expect(judge.state).toMatchObject({ foreign: 16, verdict: 'not yet known', comparisons: 0 })
    expect(feed(judge, 200, 2).every((change) => change === undefined)).toBe(true)
    const { verdict, effect, low, high, foreign, cost } = judge.state
    expect({ verdict, foreign, cost }).toEqual({ verdict: 'helps', foreign: 16, cost: 0 })
    expect(low).toBeGreaterThan(0)
    expect(Math.abs(effect! - 1)).toBeLessThan(0.4)
    expect(high).toBeGreaterThan(effect!)
  })

  test('does not say that peers help while nobody knows whether own groups make progress', () => {
    const judge = createJudge({ settings: () => ({ limit: 16 }), adaptive: true })
    const normal = normals('pulled back')
    for (let i = 0; i < 300; i++)
      judge.observe({ gain: 0.5 * normal(), cost: 10 }, { gain: 1 + 0.5 * normal(), cost: 10 }, true)
    expect(judge.state).toMatchObject({ foreign: 16, verdict: 'not yet known' })
  })

  test('lowers J to 0 when they push back, goes on looking for little, and raises it when they are worth it', () => {
    const judge = createJudge({ settings: () => ({ limit: 16 }), adaptive: true })
    const changes = feed(judge, 300, -1).filter((change) => change !== undefined)
    expect(changes).toEqual([{ before: 16, foreign: 0 }])
    expect(judge.state.verdict).toBe('hurts')
    feed(judge, 2000, -1, 'still')
    expect(judge.state.foreign).toBe(0)
    expect(judge.state.cost).toBeGreaterThan(0)
    expect(judge.state.cost).toBeLessThan(0.1)
    feed(judge, 2000, 3, 'better')
    expect(judge.state.foreign).toBe(16)
  })

  test('groups that bring nothing are not worth their compute', () => {
    const judge = createJudge({ settings: () => ({ limit: 8 }), adaptive: true })
    feed(judge, 400, 0)
    expect(judge.state.foreign).toBe(0)
  })

  test('asks for as many groups as are good for something, where the config does not fix J', () => {
    let best = 5
    const options = (adaptive: boolean): Parameters<typeof createJudge>[0] => ({
      settings: () => ({ limit: 16, best }),
      adaptive,
    })
    const [judge, fixed] = [createJudge(options(true)), createJudge(options(false))]
    expect(judge.next()).toEqual({ foreign: 5, learn: true, compare: true })
    best = 40
    expect([judge.next().foreign, judge.state.foreign]).toEqual([16, 16])
    best = 0
    expect(judge.next()).toEqual({ foreign: 4, learn: false, compare: true })
    expect(fixed.next().foreign).toBe(16)
  })

  test('does not move J where the config says so, but tells all the same', () => {
    const judge = createJudge({ settings: () => ({ limit: 8 }), adaptive: false })
    feed(judge, 100, -1)
    expect(judge.state).toMatchObject({ foreign: 8, verdict: 'hurts' })
  })

  test('rests for as long as it is told to', () => {
    const judge = createJudge({ settings: () => ({ limit: 8 }), adaptive: true })
    judge.coolDown(3)
    for (let i = 0; i < 3; i++) {
      expect(judge.next()).toMatchObject({ foreign: 0 })
      judge.spent(1)
    }
    expect(judge.next()).toMatchObject({ foreign: 8, learn: true })
  })
})
