import { expect, it } from 'vitest'
import otb from '../../../plugins/estimators/tokens/otb.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Rollout } from '../../../protocol/train/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(otb, { shift: true, scale: false, centred: false, quietOnTies: true })

/** By length of an answer: how likely its tokens are, and the sums of squared probabilities in their places. */
const ANSWERS: Record<number, { chances: number[]; collisions: number[] }> = {
  // w: 0.5, 0.9; W: 0.5, 1.4
  2: { chances: [0.5, 0.2], collisions: [0.5, 0.3] },
  // w: 0.1, 0.5, 1; W: 0.1, 0.6, 1.6
  3: { chances: [0.8, 0.5, 0.1], collisions: [0.7, 0.5, 0.2] },
}

async function said(rollouts: Rollout[], given: object = {}): Promise<Array<number | number[]>> {
  const context = createScriptedContext({
    logprobs: ({ completion }) => ANSWERS[completion.length]!.chances.map(Math.log),
    collisions: ({ completion }) => ANSWERS[completion.length]!.collisions,
  })
  const [rows] = await withSettings(otb, { ...given }).advantage!([groupOf(rollouts)], context)
  return rows!.map((row) => (typeof row === 'number' ? row : [...row]))
}

it('weighs rewards at each place by what the answers have moved so far', async () => {
  // Baselines: 0.1 / 0.6, 0.6 / 2, and at the last place the long answer's own.
  const [short, long] = (await said([rolloutOf(0, 2), rolloutOf(1, 3)])) as [number[], number[]]
  expectClose(short, [-1 / 6, -0.3])
  expectClose(long, [5 / 6, 0.7, 0])
})

it('leaves the longest answer its reward where it goes on alone, if told to', async () => {
  const [short, long] = (await said([rolloutOf(0, 2), rolloutOf(1, 3)], { zeroTail: true })) as number[][]
  expectClose(short!, [-1 / 6, -0.3])
  expectClose(long!, [5 / 6, 0.7, 1])
  // Two of the longest: nobody goes on alone, and the baseline is 1/2.
  const [, one, other] = (await said([rolloutOf(0, 2), rolloutOf(1, 3), rolloutOf(0, 3)], {
    zeroTail: true,
  })) as number[][]
  expectClose([one![2]!, other![2]!], [0.5, -0.5])
})

it('counts nothing where an environment wrote', async () => {
  const masked = { lossMask: Uint8Array.of(1, 0, 1) }
  const [short, long] = (await said([rolloutOf(0, 2), rolloutOf(1, 3, masked)])) as number[][]
  // The long answer has two places of its own, with W 0.1 and 1.1; the short one's second W is 1.4.
  expectClose(short!, [-1 / 6, -0.44])
  expectClose(long!, [5 / 6, 0, 0.56])
  const both = (await said([rolloutOf(0, 3), rolloutOf(1, 3, masked)])) as number[][]
  // At the second place W is 0.6 and 1.1; at the third the first answer is alone.
  expectClose(both[1]!, [0.5, 0, 1 - 1.1 / 1.7])
  expectClose(both[0]!, [-0.5, -1.1 / 1.7, 0])
})

it('does not take an answer for longer because an environment wrote into it', async () => {
  const masked = { lossMask: Uint8Array.of(1, 0, 1) }
  const rows = await said([rolloutOf(0, 2), rolloutOf(1, 3, masked)], { zeroTail: true })
  expectClose(rows[1] as number[], [5 / 6, 0, 0.56])
})

it('gives rollouts without a reward, and groups of one, nothing', async () => {
  expect(await said([rolloutOf(1, 2)])).toEqual([0])
  expect((await said([rolloutOf(0, 2), rolloutOf(Number.NaN, 3), rolloutOf(1, 3)]))[1]).toBe(0)
})
