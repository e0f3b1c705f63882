import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import { scoresOf, withSettings } from '../samples.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(grpo, { shift: true, scale: true, centred: true, quietOnTies: true })

describe('grpo', () => {
  const oneOfEight = [1, 0, 0, 0, 0, 0, 0, 0]

  it('gives one success in eight 2.4749 with the sample deviation', async () => {
    const [won, lost] = await scoresOf(withSettings(grpo), oneOfEight)
    expect(won).toBeCloseTo(2.4749, 4)
    expect(lost).toBeCloseTo(-0.3536, 4)
  })

  it('gives one success in eight 2.6458 with the population deviation', async () => {
    const [won, lost] = await scoresOf(withSettings(grpo, { std: 'population' }), oneOfEight)
    expect(won).toBeCloseTo(2.64574, 4)
    expect(lost).toBeCloseTo(-0.378, 4)
  })

  it('does not blow noise up into a signal', async () => {
    expect(await scoresOf(withSettings(grpo), [1, 1 + 1e-7])).toEqual([0, 0])
    const [small] = await scoresOf(withSettings(grpo), [0.00001, 0])
    expect(small).toBeCloseTo(0.000005 / (0.001 + 1e-6), 6)
  })

  it('divides by the deviation as it is when the floor is taken away', async () => {
    const [small] = await scoresOf(withSettings(grpo, { floor: 0, epsilon: 0 }), [0.00001, 0])
    expect(small).toBeCloseTo(Math.SQRT1_2, 6)
  })
})
