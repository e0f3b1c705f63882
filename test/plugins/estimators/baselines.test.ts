import { describe, it } from 'vitest'
import drGrpo from '../../../plugins/estimators/baselines/dr-grpo.ts'
import gpg from '../../../plugins/estimators/baselines/gpg.ts'
import opmd from '../../../plugins/estimators/baselines/opmd.ts'
import opo from '../../../plugins/estimators/baselines/opo.ts'
import rloo from '../../../plugins/estimators/baselines/rloo.ts'
import litePpo from '../../../plugins/estimators/batch/lite-ppo.ts'
import passAtK from '../../../plugins/estimators/shaped/pass-at-k.ts'
import redWeight from '../../../plugins/estimators/shaped/red-weight.ts'
import { estimate, groupOf, rolloutOf, scoresOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(drGrpo, { shift: true, scale: false, centred: true, quietOnTies: true })
estimatorProperties(rloo, { shift: true, scale: false, centred: true, quietOnTies: true })
estimatorProperties(litePpo, { shift: true, scale: true, centred: true, quietOnTies: true })
estimatorProperties(opo, { shift: true, scale: false, centred: false, quietOnTies: true })
estimatorProperties(gpg, { shift: true, scale: false, centred: true, quietOnTies: true })
estimatorProperties(passAtK, { shift: true, scale: true, centred: false, quietOnTies: true })
estimatorProperties(opmd, { shift: true, scale: false, centred: true, quietOnTies: true })
estimatorProperties(redWeight, { shift: true, scale: false, centred: false, quietOnTies: true })

describe('dr_grpo', () => {
  it('is the reward minus the mean', async () => {
    expectClose(await scoresOf(withSettings(drGrpo), [1, 0, 0, 0]), [0.75, -0.25, -0.25, -0.25])
  })
})

describe('rloo', () => {
  it('compares a rollout with the others only', async () => {
    expectClose(await scoresOf(withSettings(rloo), [1, 0, 0, 0]), [1, -1 / 3, -1 / 3, -1 / 3])
  })
})

describe('lite_ppo', () => {
  it('centres in the group and scales by the batch', async () => {
    const said = await estimate(withSettings(litePpo), [groupOf([1, 0]), groupOf([1, 1])])
    expectClose(said.flat(), [0.99998, -0.99998, 0, 0])
  })
})

describe('opo', () => {
  it('weighs the baseline by length', async () => {
    const group = groupOf([rolloutOf(1, 1), rolloutOf(0, 3)])
    expectClose((await estimate(withSettings(opo), [group]))[0]!, [0.75, -0.25])
  })
})

describe('gpg', () => {
  it('is scaled up by the rows of the batch over those of groups whose rewards differ', async () => {
    const said = await estimate(withSettings(gpg), [groupOf([1, 0, 0, 0]), groupOf([0, 0])])
    expectClose(said.flat(), [1.125, -0.375, -0.375, -0.375, 0, 0])
  })

  it('counts groups that are all right as it counts those that are all wrong', async () => {
    const said = await estimate(withSettings(gpg), [groupOf([1, 0]), groupOf([1, 1])])
    expectClose(said.flat(), [1, -1, 0, 0])
  })

  it('is not scaled where the rewards of every group differ, however rare right answers are', async () => {
    expectClose(await scoresOf(withSettings(gpg), [1, 0, 0, 0]), [0.75, -0.25, -0.25, -0.25])
  })

  it('sums to zero in a group whose best answer reaches the limit', async () => {
    const silent = Array.from({ length: 15 }, () => groupOf(Array.from({ length: 8 }, () => 0)))
    const [said] = await estimate(withSettings(gpg), [groupOf([1, 0, 0, 0, 0, 0, 0, 0]), ...silent])
    expectClose(said as number[], [10, ...Array.from({ length: 7 }, () => -10 / 7)])
  })

  it('divides by the constant', async () => {
    expectClose(await scoresOf(withSettings(gpg, { norm: 2 }), [1, 0]), [0.25, -0.25])
  })
})

describe('pass_at_k', () => {
  it('pays the best its lead over the second, over the deviation or not', async () => {
    expectClose(await scoresOf(withSettings(passAtK), [1, 3, 1]), [0, Math.sqrt(3), 0])
    expectClose(await scoresOf(withSettings(passAtK, { divide: false }), [1, 3, 1]), [0, 2, 0])
  })

  it('pays nobody where the best are tied', async () => {
    expectClose(await scoresOf(withSettings(passAtK), [1, 1, 0]), [0, 0, 0])
  })
})

describe('opmd', () => {
  it('damps the centred reward by the temperature', async () => {
    expectClose(await scoresOf(withSettings(opmd), [1, 0]), [0.25, -0.25])
    expectClose(await scoresOf(withSettings(opmd, { tau: 3 }), [1, 0]), [0.125, -0.125])
  })

  it('can compare with the soft maximum', async () => {
    const soft = Math.log((Math.E + 1) / 2)
    const said = await scoresOf(withSettings(opmd, { baseline: 'soft-max' }), [1, 0])
    expectClose(said, [(1 - soft) / 2, -soft / 2])
  })
})

describe('red_weight', () => {
  it('weighs by the exponential of the centred reward', async () => {
    const said = await scoresOf(withSettings(redWeight), [1, 0])
    expectClose(said, [0.5 * Math.exp(0.5), -0.5 * Math.exp(-0.5)])
  })
})
