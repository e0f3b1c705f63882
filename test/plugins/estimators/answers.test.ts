import { describe, expect, it } from 'vitest'
import copo from '../../../plugins/estimators/batch/copo.ts'
import g2rpoLike, { normalQuantile } from '../../../plugins/estimators/shaped/g2rpo-like.ts'
import mapo from '../../../plugins/estimators/shaped/mapo.ts'
import seedGrpoLike from '../../../plugins/estimators/shaped/seed-grpo-like.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { estimate, groupOf, rolloutOf, scoresOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(mapo, { shift: false, scale: true, centred: true, quietOnTies: true, binary: true })
estimatorProperties(g2rpoLike, { shift: true, scale: true, centred: true, quietOnTies: true })
estimatorProperties(seedGrpoLike, {
  settings: { form: 'inverse' },
  shift: true,
  scale: true,
  centred: true,
  quietOnTies: true,
})
estimatorProperties(copo, {
  settings: { k: 1 },
  shift: false,
  scale: true,
  centred: false,
  quietOnTies: false,
})

const answering = (rewards: number[], answers: string[]): Group =>
  groupOf(rewards.map((reward, i) => rolloutOf(reward, 1, { text: `<answer>${answers[i]}</answer>` })))

describe('mapo', () => {
  it('has the values worked out by hand', async () => {
    expectClose(await scoresOf(withSettings(mapo), [1, 0, 0, 0]), [1.874996, ...Array(3).fill(-0.624999)])
    expectClose(await scoresOf(withSettings(mapo), [1, 1, 1, 0]), [...Array(3).fill(0.458332), -1.374997])
  })
})

describe('g2rpo_like', () => {
  it('has the quantiles of a normal distribution', () => {
    const known: Array<[number, number]> = [
      [0.5, 0],
      [0.975, 1.959963985],
      [0.01, -2.326347874],
      [0.0625, -1.534120544],
    ]
    for (const [p, wanted] of known) expect(normalQuantile(p)).toBeCloseTo(wanted, 7)
  })

  it('goes by rank alone', async () => {
    const wanted = [-1.150349, -0.318639, 0.318639, 1.150349]
    expectClose(await scoresOf(withSettings(g2rpoLike), [1, 2, 3, 400]), wanted)
    const eight = await scoresOf(withSettings(g2rpoLike), [0, 1, 2, 3, 4, 5, 6, 7])
    expectClose(eight.slice(4), [0.157311, 0.488776, 0.887147, 1.534121])
  })

  it('gives equal rewards the mean of their quantiles', async () => {
    const said = await scoresOf(withSettings(g2rpoLike), [0, 1, 0, 0])
    expectClose(said, [-0.38345, 1.150349, -0.38345, -0.38345])
  })
})

describe('seed_grpo_like', () => {
  it('is smaller the less the answers agree', async () => {
    const group = answering([1, 1, 0, 0], ['7', '7', '8', '9'])
    const grpo = 0.5 / (Math.sqrt(1 / 3) + 1e-6)
    const first = async (given: object): Promise<number> =>
      (await estimate(withSettings(seedGrpoLike, { ...given }), [group]))[0]![0] as number
    expect(await first({})).toBeCloseTo(0.25 * grpo, 5)
    expect(await first({ form: 'exponential' })).toBeCloseTo(0.4723666 * grpo, 5)
    expect(await first({ form: 'inverse', alpha: 0.0417 })).toBeCloseTo(grpo / (1 + 0.0417 * 0.75), 5)
  })
})

describe('copo', () => {
  const agreeing = (rewards: number[]): Group => answering(rewards, Array(rewards.length).fill('7'))

  it('compares prompts whose answers agree with one another', async () => {
    const said = await estimate(withSettings(copo), [agreeing([1, 1]), agreeing([0, 0])])
    const z = 0.5 / (Math.SQRT1_2 + 1e-6)
    expectClose(said.flat(), [z, z, -z, -z])
  })

  it('is GRPO where the answers differ', async () => {
    const groups = [answering([1, 0], ['7', '8']), agreeing([0, 0])]
    const said = (await estimate(withSettings(copo), groups))[0] as number[]
    // H = 1 bit: w = sigmoid(10); the prompt is worth 1/2 (1 - 1/2) against 0.
    const weight = 1 / (1 + Math.exp(-10))
    const [own, global] = [0.5 / (Math.SQRT1_2 + 1e-6), 0.125 / (0.25 * Math.SQRT1_2 + 1e-6)]
    expectClose(said, [weight * own + (1 - weight) * global, -weight * own + (1 - weight) * global])
  })

  it('has nothing to compare one prompt with, nor answers that agree on nothing right', async () => {
    expectClose((await estimate(withSettings(copo), [agreeing([1, 1])])).flat(), [0, 0])
    const wrong = await estimate(withSettings(copo), [agreeing([0, 0]), answering([0, 0], ['7', '8'])])
    expectClose(wrong.flat(), [0, 0, 0, 0])
  })
})
