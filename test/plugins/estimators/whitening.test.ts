import { describe, expect, it } from 'vitest'
import plus from '../../../plugins/estimators/batch/reinforce-plus-plus.ts'
import plusBaseline from '../../../plugins/estimators/batch/reinforce-plus-plus-baseline.ts'
import gdpo from '../../../plugins/estimators/normalised/gdpo.ts'
import { estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(plus, { shift: true, scale: true, centred: false, quietOnTies: false })
estimatorProperties(plusBaseline, { shift: true, scale: true, centred: false, quietOnTies: false })
estimatorProperties(gdpo, { shift: true, scale: true, centred: true, quietOnTies: true })

describe('reinforce_plus_plus', () => {
  it('whitens over tokens, so that long answers count more', async () => {
    const group = groupOf([rolloutOf(1, 1), rolloutOf(0, 3)])
    expectClose((await estimate(withSettings(plus), [group]))[0]!, [1.5, -0.5, -0.5, -0.5])
  })

  it('discounts the reward backwards from the last token', async () => {
    const group = groupOf([rolloutOf(1, 2), rolloutOf(0, 1)])
    expectClose((await estimate(withSettings(plus, { gamma: 0.5 }), [group]))[0]!, [0, 1, -1])
  })
})

describe('reinforce_plus_plus_baseline', () => {
  it('centres in the group, then whitens over tokens', async () => {
    const group = groupOf([rolloutOf(1, 1), rolloutOf(0, 3)])
    expectClose((await estimate(withSettings(plusBaseline), [group]))[0]!, [1.5, -0.5])
  })
})

describe('gdpo', () => {
  const partly = (parts: Array<Record<string, number>>) =>
    groupOf(
      parts.map((rewardParts) => {
        const reward = Object.values(rewardParts).reduce((sum, part) => sum + part, 0)
        return rolloutOf(reward, 1, { rewardParts })
      }),
    )
  const half = 0.5 / (Math.SQRT1_2 + 1e-4)

  it('tells one part won from two parts won, where GRPO sees the same', async () => {
    const one = partly([
      { a: 0, b: 0 },
      { a: 1, b: 0 },
    ])
    const both = partly([
      { a: 0, b: 0 },
      { a: 1, b: 1 },
    ])
    const said = await estimate(withSettings(gdpo, { batch: 'off' }), [one, both])
    expectClose(said.flat(), [-half, half, -2 * half, 2 * half])
  })

  it('sees what differs under equal sums', async () => {
    const group = partly([
      { a: 1, b: 0 },
      { a: 0, b: 1 },
    ])
    const said = await estimate(withSettings(gdpo, { batch: 'off', weights: { b: 3 } }), [group])
    expectClose(said[0]!, [-2 * half, 2 * half])
  })

  it('leaves a missing part out', async () => {
    const group = partly([{ a: 1 }, { a: 0, b: 5 }, { a: 0, b: 5 }])
    const said = (await estimate(withSettings(gdpo, { batch: 'off' }), [group]))[0]!
    expectClose(said, [1.1545, -0.57725, -0.57725])
  })

  it('ends with a z-score over rows', async () => {
    const said = await estimate(withSettings(gdpo), [groupOf([1, 0]), groupOf([3, 1])])
    const [a, b, c, d] = said.flat() as [number, number, number, number]
    expect(a + b + c + d).toBeCloseTo(0, 6)
    // TRL divides by the deviation plus 1e-4, in the group and over the batch: 0.5 / 0.707207 = 0.707007 and
    // 1 / 1.414314 = 0.707057, whose sample deviation is 0.816410.
    expectClose([a, b, c, d], [0.865889, -0.865889, 0.86595, -0.86595])
  })

  it("can end with verl's z-score, over the root of the variance plus epsilon, or with another epsilon", async () => {
    const batch = [groupOf([1, 0]), groupOf([0.01, 0])]
    const over = async (given: Record<string, unknown>) =>
      (await estimate(withSettings(gdpo, { epsilon: 1, ...given }), batch)).flat() as number[]
    // z-scores with epsilon 1: +-0.5 / 1.707107, +-0.005 / 1.007071; variance 0.057208.
    const [a, b] = [0.5 / (1 + Math.SQRT1_2), 0.005 / (1 + 0.01 * Math.SQRT1_2)]
    const variance = (2 * a * a + 2 * b * b) / 3
    expectClose(
      await over({ batch: 'tokens', batchEpsilon: 0.5 }),
      [a, -a, b, -b].map((x) => x / Math.sqrt(variance + 0.5)),
    )
    expectClose(
      await over({ batchEpsilon: 0.5 }),
      [a, -a, b, -b].map((x) => x / (Math.sqrt(variance) + 0.5)),
    )
  })
})
