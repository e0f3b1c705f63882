// How noisy gradients are, and what follows for the size of a batch.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import {
  bestForeign,
  effectiveGroups,
  filledBatch,
  rateFactor,
} from '../../daemon/trainer/sharing/batch-size.ts'
import { createNoiseScale, type MeanGradient } from '../../daemon/trainer/sharing/noise-scale.ts'

const DIMENSIONS = 50

/** Progress of a step at the best rate for its size (McCandlish et al. 2018, section 2.2). */
const progressOf = (groups: number, noise: number): number => groups / (groups + noise)

/** Draws mean gradients of groups whose gradients have |G|² = 1 and tr Σ = `noise`, so that this is the noise scale. */
function gradients(noise: number, name = 'gradients') {
  const random = randomStream(7, name)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const groups = (count: number): number[][] =>
    Array.from({ length: count }, () =>
      Array.from(
        { length: DIMENSIONS },
        () => 1 / Math.sqrt(DIMENSIONS) + Math.sqrt(noise / DIMENSIONS) * normal(),
      ),
    )
  return groups
}
function meanOf(groups: readonly number[][]): MeanGradient {
  const sum = Array.from({ length: DIMENSIONS }, (_, i) => groups.reduce((all, group) => all + group[i]!, 0))
  return {
    groups: groups.length,
    squaredNorm: sum.reduce((all, value) => all + (value / groups.length) ** 2, 0),
  }
}

describe('the noise scale', () => {
  test.each([2, 30])('is found from own groups beside all groups, when it is %d groups', (noise) => {
    const [draw, scale] = [gradients(noise), createNoiseScale()]
    for (let i = 0; i < 300; i++) {
      const all = draw(32)
      scale.observe(meanOf(all.slice(0, 4)), meanOf(all))
    }
    const { value, low, high } = scale.groups!
    expect(value / noise).toBeGreaterThan(0.75)
    expect(value / noise).toBeLessThan(1.33)
    expect(low).toBeLessThan(noise)
    expect(high).toBeGreaterThan(noise)
  })

  test('is found by a node alone whose batch comes in parts: their mean squared norm beside that of the whole', () => {
    const [draw, scale] = [gradients(10), createNoiseScale()]
    for (let i = 0; i < 300; i++) {
      const all = draw(16)
      const halves = [meanOf(all.slice(0, 8)), meanOf(all.slice(8))]
      const squaredNorm = (halves[0]!.squaredNorm + halves[1]!.squaredNorm) / 2
      scale.observe({ groups: 8, squaredNorm }, meanOf(all))
    }
    expect(scale.groups!.value).toBeGreaterThan(7)
    expect(scale.groups!.value).toBeLessThan(14)
  })

  test('its interval covers, at whatever update it is read', () => {
    const RUNS = 60
    let missed = 0
    for (let run = 0; run < RUNS; run++) {
      const [draw, scale] = [gradients(20, `run ${run}`), createNoiseScale()]
      let isOut = false
      for (let i = 0; i < 60; i++) {
        const all = draw(24)
        scale.observe(meanOf(all.slice(0, 6)), meanOf(all))
        const found = scale.groups
        if (found && (found.low > 20 || found.high < 20)) isOut = true
      }
      if (isOut) missed += 1
    }
    expect(missed / RUNS).toBeLessThan(0.05)
  })

  test('follows the noise as it grows', () => {
    const scale = createNoiseScale()
    for (const noise of [5, 60]) {
      const draw = gradients(noise)
      for (let i = 0; i < 400; i++) {
        const all = draw(64)
        scale.observe(meanOf(all.slice(0, 8)), meanOf(all))
      }
    }
    expect(scale.groups!.value).toBeGreaterThan(40)
  })

  test('is infinite where only noise is seen, 0 where none is, and nothing before some updates', () => {
    const [noise, signal] = [createNoiseScale(), createNoiseScale()]
    for (let i = 0; i < 20; i++) {
      expect(noise.groups === undefined).toBe(i < 8)
      noise.observe({ groups: 2, squaredNorm: 1 + (i % 2) }, { groups: 8, squaredNorm: (1 + (i % 2)) / 4.5 })
      signal.observe({ groups: 2, squaredNorm: 1 }, { groups: 8, squaredNorm: 1.01 })
    }
    expect(noise.groups).toMatchObject({ value: Infinity, high: Infinity })
    expect(signal.groups?.value).toBe(0)
  })

  test('sizes that hardly differ and norms that are not finite are no evidence', () => {
    const scale = createNoiseScale()
    for (let i = 0; i < 20; i++) {
      scale.observe({ groups: 8, squaredNorm: 3 }, { groups: 9, squaredNorm: 2 })
      scale.observe({ groups: 0, squaredNorm: 0 }, { groups: 9, squaredNorm: 2 })
      scale.observe({ groups: 2, squaredNorm: Number.NaN }, { groups: 9, squaredNorm: 2 })
      scale.observe({ groups: 2, squaredNorm: 1 }, { groups: 9, squaredNorm: Infinity })
    }
    expect(scale.groups).toBeUndefined()
  })

  test('goes on from a checkpoint', () => {
    const [draw, before] = [gradients(10), createNoiseScale()]
    for (let i = 0; i < 50; i++) {
      const all = draw(16)
      before.observe(meanOf(all.slice(0, 4)), meanOf(all))
    }
    expect(createNoiseScale(before.save()).groups).toEqual(before.groups)
  })
})

describe('the learning rate', () => {
  test('follows the square root of the effective batch, down as well as up, to twice the config at most', () => {
    expect(rateFactor({ effective: 16, usual: 16 })).toBe(1)
    expect(rateFactor({ effective: 32, usual: 16 })).toBeCloseTo(Math.SQRT2)
    expect(rateFactor({ effective: 4, usual: 16 })).toBe(0.5)
    expect(rateFactor({ effective: 1600, usual: 16 })).toBe(2)
    expect(rateFactor({ effective: 0, usual: 16 })).toBe(1)
  })

  test('hardly rises where a larger batch has hardly less noise', () => {
    expect(rateFactor({ effective: 64, usual: 16 }, 1)).toBeLessThan(1.03)
    expect(rateFactor({ effective: 64, usual: 16 }, 1e6)).toBeCloseTo(2, 3)
    expect(rateFactor({ effective: 64, usual: 16 }, 0)).toBe(1)
  })

  test('groups with unequal weights have the noise of fewer groups', () => {
    expect(effectiveGroups([1, 1, 1, 1])).toBe(4)
    expect(effectiveGroups([1, 1, 0, 0])).toBe(2)
    expect(effectiveGroups([1, 0.5, 0.5])).toBeCloseTo(4 / 1.5)
    expect(effectiveGroups([])).toBe(0)
  })
})

describe('the number of foreign groups', () => {
  test('makes the most progress per compute of all numbers', () => {
    for (const noise of [3, 40, 500])
      for (const weight of [0.5, 1])
        for (const own of [2, 16])
          for (const sampling of [0.4, 1, 12]) {
            const costs = { own: sampling + 1, foreign: 1 }
            const rate = (foreign: number): number =>
              progressOf(own + weight * foreign, noise) / (own * costs.own + foreign * costs.foreign)
            const all = Array.from({ length: 400 }, (_, foreign) => rate(foreign))
            const found = rate(bestForeign({ own, weight, limit: 399, noise, costs }))
            expect(found).toBeGreaterThan(0.995 * Math.max(...all))
          }
  })

  test('is larger the noisier gradients are and the more an own group costs', () => {
    const at = (noise: number, own: number) =>
      bestForeign({ own: 16, weight: 1, limit: 512, noise, costs: { own, foreign: 1 } })
    expect(at(100, 2)).toBe(24)
    expect(at(1000, 2)).toBe(110)
    // One group in ten has a signal.
    expect(at(1000, 20)).toBe(512)
    expect(at(4, 2)).toBe(0)
    expect(at(1000, 1)).toBe(0)
    expect(at(Infinity, 2)).toBe(512)
  })

  test('at an unchanged learning rate, is what makes a batch no larger', () => {
    const own = (usual: number, peers: number) => filledBatch(usual, peers).leastOwn
    // No peer has more than half, and an eighth stays own.
    expect([0, 1, 3, 7, 50].map((peers) => own(16, peers))).toEqual([16, 8, 4, 2, 2])
    for (const usual of [1, 4, 8, 16])
      for (const peers of [1, 3, 50]) {
        const { leastOwn, foreign } = filledBatch(usual, peers)
        expect(leastOwn).toBeGreaterThan(0)
        expect(foreign).toBe(Math.max(Math.ceil(usual / 4), usual - leastOwn))
      }
    // Newcomers' groups come on top.
    expect(filledBatch(16, 0)).toEqual({ leastOwn: 16, foreign: 4 })
  })

  test('has a start before anything is measured, and none for peers that count nothing', () => {
    expect(bestForeign({ own: 16, weight: 1, limit: 512 })).toBe(29)
    expect(bestForeign({ own: 16, weight: 0, limit: 512 })).toBe(0)
    expect(bestForeign({ own: 16, weight: 1, limit: 512, costs: { own: 1, foreign: 0 } })).toBe(512)
  })
})
