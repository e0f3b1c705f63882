import { describe, expect, it } from 'vitest'
import mcGrpo from '../../../plugins/estimators/normalised/mc-grpo.ts'
import psrNsr from '../../../plugins/estimators/psr-nsr.ts'
import aGrae from '../../../plugins/estimators/shaped/a-grae.ts'
import canon from '../../../plugins/estimators/shaped/canon.ts'
import gtpo, { conflictFactors } from '../../../plugins/estimators/tokens/gtpo.ts'
import { estimate, groupOf, rolloutOf, scoresOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(mcGrpo, {
  settings: { epsilon: 0 },
  shift: true,
  scale: true,
  centred: false,
  quietOnTies: true,
})
estimatorProperties(aGrae, { shift: false, scale: false, centred: false, quietOnTies: true })
estimatorProperties(canon, { shift: true, scale: false, centred: false, quietOnTies: true })
estimatorProperties(gtpo, {
  settings: { epsilon: 0 },
  shift: true,
  scale: true,
  centred: false,
  quietOnTies: true,
})

estimatorProperties(psrNsr, { shift: false, scale: false, centred: false, quietOnTies: false })

describe('psr_nsr', () => {
  it.each([
    ['positive', [1, 1, 0, 0]],
    ['negative', [0, 0, -1, -1]],
    ['weighted', [0.1, 0.1, -1, -1]],
  ])('%s', async (learn, wanted) => {
    expectClose(await scoresOf(withSettings(psrNsr, { learn }), [1, 1, 0, 0]), wanted)
  })

  it('needs no group, and takes what is worth less than a right answer for wrong', async () => {
    expectClose(await scoresOf(withSettings(psrNsr), [0]), [-1])
    expectClose(await scoresOf(withSettings(psrNsr, { positiveWeight: 0.5 }), [1]), [0.5])
    expectClose(await scoresOf(withSettings(psrNsr), [0.4, 0.4]), [-0.6, -0.6])
    expectClose(
      await scoresOf(withSettings(psrNsr, { highest: 0.4, learn: 'negative' }), [0.4, 0]),
      [0, -0.4],
    )
  })
})

describe('mc_grpo', () => {
  it('centres on the median and divides by the median deviation', async () => {
    const said = await scoresOf(withSettings(mcGrpo), [0, 1, 2, 4, 9])
    expectClose(said, [-2 / 2.001, -1 / 2.001, 0, 2 / 2.001, 7 / 2.001])
  })

  it('takes the lower middle of an even group', async () => {
    expect((await scoresOf(withSettings(mcGrpo), [0, 1, 2, 3]))[1]).toBe(0)
  })

  it('falls back on the standard deviation where most are at the median', async () => {
    expectClose(await scoresOf(withSettings(mcGrpo), [1, 0, 0, 0, 0]), [1 / (0.2 ** 0.5 + 1e-3), 0, 0, 0, 0])
    const literal = await scoresOf(withSettings(mcGrpo, { fallback: 'none' }), [1, 0, 0, 0, 0])
    expectClose(literal, [10, 0, 0, 0, 0])
  })

  it('can make up for the rollouts that say nothing', async () => {
    const said = await scoresOf(withSettings(mcGrpo, { rescale: true }), [0, 1, 2, 4, 9])
    expectClose(said, [-2.5 / 2.001, -1.25 / 2.001, 0, 2.5 / 2.001, 8.75 / 2.001])
  })
})

describe('a_grae', () => {
  const nineOfSixteen = [...Array<number>(9).fill(1), ...Array<number>(7).fill(0)]

  it('mixes the easy and the hard weighting by progress, and holds successes back', async () => {
    const said = await scoresOf(withSettings(aGrae, { divide: false }), nineOfSixteen)
    expect(said[0]).toBeCloseTo(0.307617, 5)
    expect(said[15]).toBeCloseTo(-0.703125, 5)
  })

  it('stops holding back once progress reaches alpha', async () => {
    const said = await scoresOf(withSettings(aGrae, { divide: false, alpha: 0.5 }), nineOfSixteen)
    expect(said[0]).toBeCloseTo(0.546875, 5)
  })

  it('works on GRPO by default', async () => {
    const said = await scoresOf(withSettings(aGrae), [1, 0, 0, 0])
    expect(said[0]).toBeCloseTo(0.375, 4)
    expect(said[1]).toBeCloseTo(-0.5, 4)
  })
})

describe('canon', () => {
  const group = groupOf(
    [1, 0, 1, 1].map((reward, i) =>
      rolloutOf(reward, i + 1, { entropies: new Float32Array(i + 1).fill((i + 1) / 10) }),
    ),
  )
  const said = async (given: Record<string, unknown>) =>
    (await estimate(withSettings(canon, given), [group]))[0]!

  it('compares each half with the other', async () => {
    expectClose(await said({}), [0, -1, 0.5, 0.5])
    expectClose(await said({ metric: 'length' }), [0, -1, 0.5, 0.5])
  })

  it('compares inside the half at lambda 0, and between by the mean reward when annealed', async () => {
    expectClose(await said({ lambda: 0 }), [0.5, -0.5, 0, 0])
    expectClose(await said({ lambda: 'anneal' }), [0.125, -0.875, 0.375, 0.375])
  })

  it('tilts towards one half', async () => {
    expectClose(await said({ alpha: 0.5 }), [-0.5, -1, 0.75, 0.75])
    expectClose(await said({ metric: 'length', alpha: 0.5, beta: 0.1 }), [0.4, -0.6, 0.1, 0.1])
  })
})

describe('gtpo', () => {
  const written = (reward: number, tokens: number[], entropy = 0) =>
    rolloutOf(reward, tokens.length, {
      tokens: Int32Array.from(tokens),
      entropies: new Float32Array(tokens.length).fill(entropy),
    })

  it('finds the runs that good and bad rollouts share from either end', () => {
    const rollouts = [written(1, [5, 6, 7, 9]), written(0, [5, 8, 7, 9])]
    expect(conflictFactors(rollouts, [1, -1])).toEqual([
      [2, 1, 2, 2],
      [0, 1, 0, 0],
    ])
  })

  it('counts both runs where they meet, and none between rollouts of one sign', () => {
    const same = [written(1, [5, 6]), written(0, [5, 6])]
    expect(conflictFactors(same, [1, -1])).toEqual([
      [4, 4],
      [0, 0],
    ])
    expect(conflictFactors(same, [1, 1])).toEqual([
      [1, 1],
      [1, 1],
    ])
  })

  it('sees no conflict in what an environment wrote', () => {
    const shown = { lossMask: Uint8Array.of(1, 0, 0, 1) }
    const same = [
      { ...written(1, [5, 3, 3, 9]), ...shown },
      { ...written(0, [5, 3, 3, 8]), ...shown },
    ]
    expect(conflictFactors(same, [1, -1])).toEqual([
      [2, 1, 1, 1],
      [0, 1, 1, 1],
    ])
    // The same answers as [5, 9] and [5, 9], whatever stands between them.
    const played = [{ ...written(1, [5, 3, 4, 9]), ...shown }, written(0, [5, 9])]
    expect(conflictFactors(played, [1, -1])).toEqual([
      [4, 1, 1, 4],
      [0, 0],
    ])
  })

  it('takes off a share of the entropy where the advantage is 0, and not where there is no reward', async () => {
    const group = groupOf([
      written(1, [1], 0.5),
      written(0.5, [2], 0.5),
      written(0, [3], 0),
      written(Number.NaN, [4], 0.5),
    ])
    const [said] = await estimate(withSettings(gtpo), [group])
    expectClose(said!.slice(1, 2), [-0.05])
    expectClose(said!.slice(3), [0])
    const tied = groupOf([written(1, [1], 0.5), written(1, [2], 0.5)])
    expectClose((await estimate(withSettings(gtpo), [tied]))[0]!, [0, 0])
  })

  it('takes off a share of the entropy, and leaves uncertain rollouts out', async () => {
    const group = groupOf([
      written(1, [1], 0.5),
      written(1, [2], 0.8),
      written(0, [3], 0),
      written(0, [4], 0),
    ])
    const base = 0.5 / (Math.sqrt(1 / 3) + 1e-4)
    expectClose((await estimate(withSettings(gtpo), [group]))[0]!, [base - 0.05, 0, -base, -base])
  })
})
