import { expect, it } from 'vitest'
import klCov from '../../../plugins/corrections/penalties/kl-cov.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
import { slopesOf, valuesOf } from './rows.ts'

/** A policy that gives the first, second ... token of any text these log-probs. */
const policyOf = (...logprobs: number[]) =>
  createScriptedContext({ logprobs: ({ completion }) => logprobs.slice(0, completion.length) })

async function heldOf(given: object, groups: ReturnType<typeof groupOf>[], advantages: number[][]) {
  const context = policyOf(0, -1, -5)
  const { held } = await withSettings(klCov, { ...given }).columns!(advantages, groups, context)
  const rows = (held as Array<Array<number | Float32Array>>).map((row) =>
    row.map((value) => (typeof value === 'number' ? value : [...value])),
  )
  return { rows, count: context.metrics.held }
}

it('holds the tokens whose advantage and log-prob rise together the most', async () => {
  // Mean advantage 0, mean log-prob -2: covariances 2, 1, -3 for the first, the negative of these for the second.
  const groups = [groupOf([rolloutOf(1, 3), rolloutOf(0, 3)])]
  expect(await heldOf({ share: 1 / 3 }, groups, [[1, -1]])).toEqual({
    rows: [
      [
        [1, 0, 0],
        [0, 0, 1],
      ],
    ],
    count: 2,
  })
  expect(await heldOf({ share: 0.5 }, groups, [[1, -1]])).toEqual({
    rows: [
      [
        [1, 1, 0],
        [0, 0, 1],
      ],
    ],
    count: 3,
  })
})

it('holds one where its share comes to less, and none where there is none', async () => {
  const groups = [groupOf([rolloutOf(1, 3)]), groupOf([rolloutOf(0, 3)])]
  // In a plain number a rollout has nothing to hold.
  expect(await heldOf({}, groups, [[1], [-1]])).toEqual({ rows: [[0], [[0, 0, 1]]], count: 1 })
  expect(await heldOf({}, [], [])).toEqual({ rows: [], count: 0 })
})

it('passes over tokens that an environment wrote', async () => {
  const masked = { lossMask: Uint8Array.of(1, 1, 0) }
  const groups = [groupOf([rolloutOf(1, 3, masked), rolloutOf(0, 3, masked)])]
  // Mean log-prob -0.5: covariances 0.5 and -0.5, then -0.5 and 0.5.
  expect((await heldOf({ share: 0.5 }, groups, [[1, -1]])).rows).toEqual([
    [
      [1, 0, 0],
      [0, 1, 0],
    ],
  ])
})

it('adds the distance to the sampler at held tokens, and nothing at others or where nobody knows it', () => {
  const { penalty, columns } = withSettings(klCov, { coefficient: 2 }).correct!()
  expect(columns).toEqual({ held: 0 })
  const row = {
    logprob: [-1, -1, -1, -1],
    behaviour: [-1.5, -0.75, -3, -3],
    known: [1, 1, 1, 0],
    'kl_cov.held': [1, 1, 0, 1],
  }
  expect(valuesOf(penalty, row)).toEqual([1, 0.5, 0, 0])
  const slopes = slopesOf(penalty, row)
  for (const [i, slope] of [2, -2, 0, 0].entries()) expect(slopes[i]).toBeCloseTo(slope, 6)
})

it('can hold towards the policy that began the batch', () => {
  const { penalty } = withSettings(klCov, { towards: 'proximal' }).correct!()
  const row = { logprob: [-1, -1], proximal: [-1.25, -1], behaviour: [-9, -9], 'kl_cov.held': [1, 1] }
  expect(valuesOf(penalty, row)).toEqual([0.25, 0])
})
