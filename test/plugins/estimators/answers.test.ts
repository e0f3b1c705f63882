import { describe, it } from 'vitest'
import copo from '../../../plugins/estimators/batch/copo.ts'
import mapo from '../../../plugins/estimators/shaped/mapo.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { estimate, groupOf, rolloutOf, scoresOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(mapo, { shift: false, scale: true, centred: true, quietOnTies: true, binary: true })
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
