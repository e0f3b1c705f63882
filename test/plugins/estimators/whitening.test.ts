import { describe, expect, it } from 'vitest'
import gdpo from '../../../plugins/estimators/gdpo.ts'
import plus from '../../../plugins/estimators/reinforce-plus-plus.ts'
import plusBaseline from '../../../plugins/estimators/reinforce-plus-plus-baseline.ts'
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
    expect((a * a + b * b + c * c + d * d) / 3).toBeCloseTo(1, 5)
  })
})
