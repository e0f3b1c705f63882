import { describe, expect, it } from 'vitest'
import disco from '../../../plugins/estimators/shaped/disco.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { groupOf, rolloutOf, scoresOf, withSettings } from '../samples.ts'

describe('disco', () => {
  it('gives right answers equal shares and wrong ones shares by how likely the policy finds them', async () => {
    // Mean log-probs of the wrong ones: -1, -1 - ln 2 twice. Their softmax is 1/2, 1/4, 1/4; the group has four.
    const wrong = [-1, -1 - Math.log(2), -1 - Math.log(2)]
    const rollouts = [rolloutOf(1, 1), ...wrong.map((_, i) => rolloutOf(0, i + 2))]
    const context = createScriptedContext({
      logprobs: ({ completion }) => Array<number>(completion.length).fill(wrong[completion.length - 2]!),
    })
    const hooks = withSettings(disco, { temperature: 1 })
    const [row] = await hooks.advantage!([groupOf(rollouts)], context)
    for (const [i, value] of [4, -2, -1, -1].entries()) expect(row![i]).toBeCloseTo(value, 6)
  })

  it('without regard to likelihood is the difference of two means, whatever the question’s pass rate', async () => {
    const hooks = withSettings(disco, { wrong: 'evenly', scale: 0.5 })
    expect(await scoresOf(hooks, [1, 1, 0, 0])).toEqual([1, 1, -1, -1])
    expect(await scoresOf(hooks, [1, 0, 0, 0])).toEqual([2, -2 / 3, -2 / 3, -2 / 3])
    expect(await scoresOf(hooks, [1, 1, 1, 0])).toEqual([2 / 3, 2 / 3, 2 / 3, -2])
  })

  it('leaves out tokens of an environment from the score', async () => {
    const lossMask = Uint8Array.of(1, 0)
    const rollouts = [rolloutOf(1), rolloutOf(0, 2, { lossMask }), rolloutOf(0, 2, { lossMask })]
    const context = createScriptedContext({ logprobs: () => [-1, -9] })
    const [row] = await withSettings(disco).advantage!([groupOf(rollouts)], context)
    expect(row).toEqual([3, -1.5, -1.5])
  })

  it('says nothing of groups that are all right or all wrong, nor of unscored rollouts', async () => {
    expect(await scoresOf(withSettings(disco), [1, 1, 1])).toEqual([0, 0, 0])
    expect(await scoresOf(withSettings(disco), [0, 0.2])).toEqual([0, 0])
    expect(await scoresOf(withSettings(disco), [1, Number.NaN, 0])).toEqual([2, 0, -2])
  })
})
