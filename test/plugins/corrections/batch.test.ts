import { describe, expect, it } from 'vitest'
import clipCov from '../../../plugins/corrections/clip-cov.ts'
import m2po, { beyond } from '../../../plugins/corrections/m2po.ts'
import kl from '../../../plugins/corrections/penalties/kl.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
import { slopesOf, valuesOf } from './rows.ts'

const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
/** A policy that gives the first, second ... token of any text these log-probs. */
const policyOf = (...logprobs: number[]) =>
  createScriptedContext({ logprobs: ({ completion }) => logprobs.slice(0, completion.length) })

describe('m2po', () => {
  const squares = (...values: number[]) => values.map((square) => ({ square }))

  it('drops the largest until the mean of the rest is small', () => {
    expect(beyond(squares(0.01, 0.5, 0.02, 0.09), 0.04)).toEqual(squares(0.5, 0.09))
    expect(beyond(squares(0.01, 0.5, 0.02, 0.08), 0.04)).toEqual(squares(0.5))
    expect(beyond(squares(0.03, 0.03), 0.04)).toEqual([])
  })

  it('keeps one token whatever it is, and drops what is no number first', () => {
    expect(beyond(squares(1, 2, 3), 0.04)).toEqual(squares(3, 2))
    expect(beyond(squares(0.01, Number.POSITIVE_INFINITY), 0.04)).toEqual(squares(Number.POSITIVE_INFINITY))
    expect(beyond([], 0.04)).toEqual([])
  })

  it('masks them in a batch, over all of its rollouts together', async () => {
    const groups = [
      groupOf([
        rolloutOf(1, 3, { behaviourLogprobs: Float32Array.of(-1, -1, -1) }),
        rolloutOf(0, 2, { behaviourLogprobs: Float32Array.of(-1, -3), lossMask: Uint8Array.of(0, 1) }),
        rolloutOf(0, 2),
      ]),
    ]
    // Squared distances 0.01, 0.25, 0; masked and 2.25; unknown. Without the two largest the mean is 0.005.
    const context = policyOf(-1.1, -1.5, -1)
    const [group] = await withSettings(m2po).group!(groups, { ...view, at: 'batch' }, context)
    expect(group!.rollouts.map(({ lossMask }) => lossMask && [...lossMask])).toEqual([
      [1, 0, 1],
      [0, 0],
      undefined,
    ])
    expect(context.metrics.dropped).toBe(0.5)
    expect(groups[0]!.rollouts[0]!.lossMask).toBeUndefined()
  })

  it('leaves a round alone', async () => {
    const groups = [groupOf([rolloutOf(1, 1, { behaviourLogprobs: Float32Array.of(-9) })])]
    expect(await withSettings(m2po).group!(groups, { ...view, at: 'round' }, policyOf(-1))).toBe(groups)
  })
})

describe('kl', () => {
  const penalty = (given: object, logprob: number, reference: number): { value: number; slope: number } => {
    const { penalty: of } = withSettings(kl, { coefficient: 1, ...given }).correct!()
    const row = { logprob: [logprob], reference: [reference] }
    return { value: valuesOf(of, row)[0]!, slope: slopesOf(of, row)[0]! }
  }

  it.each([
    ['k1', 0.5, 1],
    ['k2', 0.125, 0.5],
    ['k3', Math.exp(-0.5) - 0.5, 1 - Math.exp(-0.5)],
    ['abs', 0.5, 1],
  ])('%s has the value and slope of the formula', (estimator, value, slope) => {
    const found = penalty({ estimator }, -1, -1.5)
    expect(found.value).toBeCloseTo(value, 9)
    expect(found.slope).toBeCloseTo(slope, 5)
  })

  it('is 0 where the policies agree, and bounded where they do not at all', () => {
    expect(penalty({}, -1, -1)).toEqual({ value: 0, slope: 0 })
    expect(penalty({}, -40, -1)).toEqual({ value: 10, slope: 0 })
  })

  it('can pull towards the sampler where it is known', () => {
    const { penalty: of } = withSettings(kl, { coefficient: 0.5, estimator: 'k2', towards: 'sampler' })
      .correct!()
    const row = { logprob: [-1, -1], behaviour: [-3, -3], known: [1, 0] }
    expect(valuesOf(of, row)).toEqual([1, 0])
  })
})

describe('clip_cov', () => {
  it('takes the advantage off tokens whose advantage and log-prob rise together', async () => {
    const groups = [groupOf([rolloutOf(1, 3), rolloutOf(0, 3)])]
    // Mean advantage 0, mean log-prob -2: products 2, 0, -2 for the first, the negative of these for the second.
    const context = policyOf(0, -2, -4)
    const given = [[1, -1]]
    const said = await withSettings(clipCov, { share: 1 }).modify!(given, groups, context)
    expect(said[0]!.map((row) => Array.from(row as Float32Array))).toEqual([
      [0, 1, 1],
      [-1, -1, 0],
    ])
    expect(given).toEqual([[1, -1]])
    expect(context.metrics.spared).toBe(2)
  })

  it('takes one where its share comes to less, the same for the same seed, and none outside of the bounds', async () => {
    const groups = [groupOf([rolloutOf(1, 3), rolloutOf(0, 3)])]
    const spared = async (given: object): Promise<number[]> => {
      const said = await withSettings(clipCov, { ...given }).modify!([[1, -1]], groups, policyOf(0, -2, -4))
      return said[0]!.flatMap((row) => (typeof row === 'number' ? [row, row, row] : [...row]))
    }
    const once = await spared({})
    expect(once.filter((value) => value === 0)).toHaveLength(1)
    expect(await spared({})).toEqual(once)
    expect((await spared({ low: 3 })).filter((value) => value === 0)).toEqual([])
  })

  it('passes over tokens that an environment wrote', async () => {
    const masked = { lossMask: Uint8Array.of(0, 1, 1) }
    const groups = [groupOf([rolloutOf(1, 3, masked), rolloutOf(0, 3, masked)])]
    const said = await withSettings(clipCov, { share: 1, low: 0.5 }).modify!(
      [[1, -1]],
      groups,
      policyOf(5, -2, -4),
    )
    const rows = said[0]!.map((row) => (typeof row === 'number' ? row : [...row]))
    expect(rows).toEqual([
      [1, 0, 1],
      [-1, -1, 0],
    ])
  })
})
