import { describe, expect, it } from 'vitest'
import grpo from '../../../plugins/estimators/normalised/grpo.ts'
import { drawByWeight } from '../../../plugins/replay/kept/draw.ts'
import selectiveLike from '../../../plugins/replay/selective-like.ts'
import type { Advantages, Hooks } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, withSettings } from '../samples.ts'
import { sampled, viewAt, visit } from './samples.ts'

/** Trains on groups with these advantages, after a batch that told the plugin who it is. */
async function train(hooks: Hooks, groups: Group[], advantages: Advantages, step = 0): Promise<void> {
  const context = contextOf(step)
  await hooks.group!(groups, viewAt(step), context)
  await hooks.commit!({ step, metrics: {}, groups, advantages }, context)
}
const nothing = (version: number): Group => visit(99, version, [0, 0, 0, 0])

describe('the selective buffer', () => {
  it('never keeps a sample that taught nothing, nor one of a peer', async () => {
    const hooks = withSettings(selectiveLike)
    const groups = [visit(1, 0, [1, 0, 0]), visit(2, 0, [1, 0], { author: 'peer' })]
    await train(hooks, groups, [
      [1.5, 0, 1e-7],
      [1, -1],
    ])
    await hooks.observe!([nothing(1)], contextOf(1))
    const batch = await hooks.group!([visit(3, 1, [1, ...Array(29).fill(0)])], viewAt(1), contextOf(1))
    expect(batch.slice(1).map(({ rollouts }) => rollouts.map(({ text }) => text))).toEqual([['try 0 at 0']])
  })

  it('draws as often as the size of the advantage says', () => {
    const sizes = [4, 2, 1, 1]
    const counts = [0, 0, 0, 0]
    const random = contextOf().random('chi')
    for (let i = 0; i < 4000; i++) counts[drawByWeight([0, 1, 2, 3], sizes, 1, random)[0]!]! += 1
    const chiSquare = counts.reduce(
      (sum, count, i) => sum + (count - 500 * sizes[i]!) ** 2 / (500 * sizes[i]!),
      0,
    )
    // 99.9 % quantile for 3 degrees of freedom.
    expect(chiSquare).toBeLessThan(16.27)
  })

  it('draws without putting back, and nothing of weight 0', () => {
    const drawn = drawByWeight(['a', 'b', 'c'], [1, 0, 2], 9, contextOf().random('x'))
    expect(drawn.sort()).toEqual(['a', 'c'])
  })

  it('gives a replayed sample the advantage that it had, whatever the estimator says', async () => {
    const hooks = withSettings(selectiveLike)
    const perToken = new Float32Array(10).fill(-0.25)
    await train(hooks, [visit(1, 0, [sampled(1, '0123456789'), 0])], [[perToken, 0]])
    await hooks.observe!([nothing(1)], contextOf(1))
    const groups = await hooks.group!([visit(2, 1, [1, 0, 0, 0])], viewAt(1), contextOf(1))
    expect(groups[1]).toMatchObject({ always: true, author: 'self', rollouts: [{ replayed: 1, reward: 1 }] })
    const estimated = await withSettings(grpo).advantage!(groups, contextOf(1))
    expect(estimated[1]).toEqual([0])
    const modified = await hooks.modify!(estimated, groups, contextOf(1))
    expect(modified[0]).toEqual(estimated[0])
    expect(modified[1]).toEqual([perToken])
    // What was replayed is not stored again.
    await hooks.commit!(
      { step: 1, metrics: {}, groups: [groups[1]!], advantages: [modified[1]!] },
      contextOf(1),
    )
    const again = await hooks.group!([visit(2, 2, [1, ...Array(29).fill(0)])], viewAt(2), contextOf(2))
    expect(again.slice(1).map(({ rollouts }) => rollouts[0]!.replayed)).toEqual([2])
  })

  it('fills a quarter of the batch at most, and acts only while fresh signal is rare', async () => {
    const hooks = withSettings(selectiveLike)
    const group = visit(1, 0, Array(20).fill(1))
    await train(hooks, [group], [Array(20).fill(1)])
    const fresh = [visit(2, 1, [1, 0, 0]), visit(3, 1, [1, 0, 0])]
    await hooks.observe!([...fresh, nothing(1)], contextOf(1))
    expect(await hooks.group!(fresh, viewAt(1), contextOf(1))).toEqual(fresh)
    await hooks.observe!([fresh[0]!, nothing(1)], contextOf(1))
    expect(await hooks.group!(fresh, viewAt(1), contextOf(1))).toHaveLength(4)
    expect(await hooks.group!(fresh, viewAt(1, 'round'), contextOf(1))).toEqual(fresh)
  })

  it('drops what is older than its versions', async () => {
    const hooks = withSettings(selectiveLike, { versions: 3 })
    await train(hooks, [visit(1, 0, [1, 0])], [[1, -1]])
    await hooks.observe!([nothing(3)], contextOf(3))
    const batch = (version: number) =>
      hooks.group!([visit(2, version, [1, ...Array(11).fill(0)])], viewAt(version), contextOf())
    expect(await batch(3)).toHaveLength(3)
    expect(await batch(4)).toHaveLength(1)
  })

  it('prefers prompts that once taught something, where that is asked for', async () => {
    const hooks = withSettings(selectiveLike, { prompts: 3 })
    await train(hooks, [visit(1, 0, [1, 0])], [[1, -1]])
    const candidates = [1, 2].map((seed) => visit(seed, 0, [0]).prompt)
    expect(await hooks.weigh!(candidates, contextOf())).toEqual([3, 1])
  })

  it('decides the same after its state was saved and loaded', async () => {
    const hooks = withSettings(selectiveLike)
    await train(hooks, [visit(1, 0, [1, 0, 0, 1])], [[1, -1, -1, new Float32Array(10).fill(2)]])
    await hooks.observe!([nothing(1)], contextOf(1))
    const copy = withSettings(selectiveLike)
    await copy.load!(await hooks.save!())
    const fresh = [visit(2, 1, [1, ...Array(8).fill(0)])]
    const groups = await hooks.group!(fresh, viewAt(1), contextOf(1))
    expect(groups).toHaveLength(4)
    expect(await copy.group!(fresh, viewAt(1), contextOf(1))).toEqual(groups)
    const zeros = groups.map(({ rollouts }) => rollouts.map(() => 0))
    expect(await copy.modify!(zeros, groups, contextOf(1))).toEqual(
      await hooks.modify!(zeros, groups, contextOf(1)),
    )
  })
})
