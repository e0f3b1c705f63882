import { describe, expect, it } from 'vitest'
import spoChain from '../../../plugins/control/branches/spo-chain.ts'
import { treeAdvantages } from '../../../plugins/control/branches/tree.ts'
import treeRlLike from '../../../plugins/control/branches/tree-rl-like.ts'
import type { Hooks, Request, RoundView } from '../../../protocol/plugin/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const VIEW = { lineage: 'a', tokenizer: 'b', version: 0, self: 'self' }
const roundOf = (groups: Group[], more: Partial<RoundView> = {}): RoundView => ({
  ...VIEW,
  ...{ groups, landed: new Map(), asked: 0, tokensLeft: 1e6 },
  ...more,
})
/** Of these probabilities, token by token. */
const written = (reward: number, probabilities: number[], more: Partial<Rollout> = {}): Rollout =>
  rolloutOf(reward, probabilities.length, {
    behaviourLogprobs: Float32Array.from(probabilities, Math.log),
    ...more,
  })
const extend = async (hooks: Hooks, round: RoundView): Promise<Request[]> =>
  hooks.extend!(round, createScriptedContext())
const summary = ({ id, prefix, rollouts, keep }: Request) => [
  id,
  prefix?.rollout,
  prefix?.length,
  rollouts,
  keep,
]

describe('spo_chain', () => {
  // Cut points at tokens 0, 2, 3, 5: with an interval of 2 segments begin at 0 and 3.
  const first = written(1, [0.5, 0.95, 0.5, 0.8, 0.99, 0.5])
  const second = written(0, [0.95, 0.99, 0.5, 0.95, 0.95, 0.95])
  const group = groupOf([first, second])
  const hooksOf = (more: object = {}) => withSettings(spoChain, { interval: 2, samples: 4, ...more })
  const landed = (means: Record<string, number>): Map<string, Group> =>
    new Map(
      Object.entries(means).map(([id, mean]) => [
        id,
        groupOf([0, 1, 2, 3].map((i) => (i < 4 * mean ? 1 : 0))),
      ]),
    )
  /** Values 0.25 for the question, 0.75 and 0.5 at the other cuts. */
  const measured = async (hooks: Hooks): Promise<void> => {
    await extend(hooks, roundOf([group]))
    await extend(
      hooks,
      roundOf([group], { asked: 1, landed: landed({ 0: 0.25, '0:0:3': 0.75, '0:1:2': 0.5 }) }),
    )
  }
  const advantages = async (hooks: Hooks, groups: Group[]): Promise<number[][][]> => {
    const rows = groups.map(({ rollouts }) => rollouts.map(() => 9))
    return (await hooks.modify!(rows, groups, contextOf())).map((of) =>
      of.map((row) => (typeof row === 'number' ? [row] : [...row].map((value) => Number(value.toFixed(4))))),
    )
  }

  it('measures where every so many-th unsure token begins, and the question once', async () => {
    const requests = await extend(hooksOf(), roundOf([group]))
    expect(requests.map(summary)).toEqual([
      ['0', undefined, undefined, 4, 'probe'],
      ['0:0:3', 0, 3, 4, 'probe'],
      ['0:1:2', 1, 2, 4, 'probe'],
    ])
    expect(requests[1]!.prefix!.group).toBe(group)
  })

  it('gives a segment the difference of the values at its ends, and the last one the reward', async () => {
    const hooks = hooksOf()
    await measured(hooks)
    expect(await advantages(hooks, [group])).toEqual([
      [
        [0.5, 0.5, 0.5, 0.25, 0.25, 0.25],
        [0, 0, -0.5, -0.5, -0.5, -0.5],
      ],
    ])
  })

  it('learns from unsure tokens alone, which `whiten` gives mean 0 and variance 1 over the batch', async () => {
    const hooks = hooksOf({ whiten: true })
    await measured(hooks)
    const [marked] = await hooks.group!([group], { ...VIEW, at: 'round' }, contextOf())
    expect(marked).toMatchObject({ always: true, arm: 'base' })
    const batch = await hooks.group!([marked!], { ...VIEW, at: 'batch' }, contextOf())
    expect(batch[0]!.rollouts.map(({ lossMask }) => [...lossMask!])).toEqual([
      [1, 0, 1, 1, 0, 1],
      [0, 0, 1, 0, 0, 0],
    ])
    const [rows] = await advantages(hooks, batch)
    const learnt = rows!.flatMap((row, r) => row.filter((_, t) => batch[0]!.rollouts[r]!.lossMask![t]))
    // 0.5, 0.5, 0.25, 0.25, -0.5: mean 0.2, variance 0.135.
    const wanted = [0.5, 0.5, 0.25, 0.25, -0.5].map((one) => (one - 0.2) / Math.sqrt(0.135))
    expect(learnt).toEqual(wanted.map((one) => expect.closeTo(one, 3)))
  })

  it('leaves groups that it has not measured to the estimator', async () => {
    const hooks = hooksOf()
    await measured(hooks)
    const other = groupOf([1, 0], { id: 'f'.repeat(64), author: 'peer' })
    expect(await advantages(hooks, [other])).toEqual([[[9], [9]]])
    expect(await hooks.group!([other], { ...VIEW, at: 'batch' }, contextOf())).toEqual([other])
    const hinted = groupOf([first], { arm: 'hint' })
    expect(await extend(hooks, roundOf([hinted]))).toEqual([])
  })

  it('joins segments over a cut whose continuations were not written', async () => {
    const hooks = hooksOf()
    await extend(hooks, roundOf([group]))
    await extend(hooks, roundOf([group], { asked: 1, landed: landed({ 0: 0.25 }) }))
    expect(await advantages(hooks, [group])).toEqual([[Array(6).fill(0.75), Array(6).fill(0)]])
  })
})

describe('tree_rl_like', () => {
  const tokens = (...ids: number[]) => Int32Array.from(ids)

  it('branches each rollout at its least certain tokens, and again within what has grown', async () => {
    const hooks = withSettings(treeRlLike, { forks: 2, branches: 3, iterations: 2 })
    const base = groupOf([written(1, [0.1, 0.9, 0.2, 0.4]), written(0, [0.9, 0.3, 0.8, 0.7])])
    const asked = await extend(hooks, roundOf([base]))
    expect(asked.map(summary)).toEqual([
      ['0:0:0:0:2', 0, 2, 3, 'train'],
      ['0:0:0:0:3', 0, 3, 3, 'train'],
      ['0:1:0:0:1', 1, 1, 3, 'train'],
      ['0:1:0:0:3', 1, 3, 3, 'train'],
    ])
    const grown = groupOf([written(0, [1, 1, 0.05, 0.6], { prefix: 2, lossMask: Uint8Array.of(0, 0, 1, 1) })])
    const again = await extend(hooks, roundOf([base], { asked: 1, landed: new Map([[asked[0]!.id, grown]]) }))
    expect(again.map(summary).slice(0, 2)).toEqual([
      ['0:0:1:1:2', 0, 2, 3, 'train'],
      ['0:0:1:0:2', 0, 2, 3, 'train'],
    ])
    expect(again[0]!.prefix!.group).toBe(grown)
    expect(await extend(hooks, roundOf([base], { asked: 2 }))).toEqual([])
  })

  it('has advantages that fit the formula', () => {
    const leaves = [
      { tokens: tokens(1, 2, 3), reward: 1 },
      { tokens: tokens(1, 2, 4), reward: 0, prefix: 2 },
      { tokens: tokens(5), reward: 0 },
    ]
    // Relative rewards 1, -1/2, -1/2. The first two tokens are worth 1/4 with two leaves, and are learnt in one row.
    const [first, second, third] = treeAdvantages(leaves).map((row) => [...row])
    const trunk = 0.5 * Math.sqrt(2)
    expect(first).toEqual([trunk, trunk, 1.75].map((one) => expect.closeTo(one, 6)))
    expect(second!.slice(2)).toEqual([-1.25])
    expect(third).toEqual([-1])
  })

  it('has for two rows of the same beginning what it has for one row of both', () => {
    const twice = treeAdvantages([
      { tokens: tokens(1, 2), reward: 1 },
      { tokens: tokens(1, 3), reward: 0 },
      { tokens: tokens(4, 3), reward: 0 },
    ])
    const once = treeAdvantages([
      { tokens: tokens(1, 2), reward: 1 },
      { tokens: tokens(1, 3), reward: 0, prefix: 1 },
      { tokens: tokens(4, 3), reward: 0 },
    ])
    expect(twice[0]![0]! + twice[1]![0]!).toBeCloseTo(once[0]![0]!, 6)
  })

  it('makes one group of a prompt, which counts its first chains and is told by its rollouts', async () => {
    const hooks = withSettings(treeRlLike)
    const base = groupOf([
      rolloutOf(1, 2, { tokens: tokens(1, 2) }),
      rolloutOf(0, 2, { tokens: tokens(4, 3) }),
    ])
    const grown = groupOf([rolloutOf(0, 2, { tokens: tokens(1, 3), prefix: 1 })], {
      arm: 'continued',
      origin: { plugin: 'control/tree_rl_like', request: 'x', parent: base.id },
    })
    const groups = await hooks.group!([base, grown], { ...VIEW, at: 'round' }, contextOf())
    expect(groups).toHaveLength(1)
    expect(groups[0]!.arm).toBe('base')
    expect(groups[0]!.rollouts.map(({ arm, prefix }) => [arm, prefix])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      ['continued', 1],
    ])
    const [rows] = await hooks.modify!([[9, 9, 9]], groups, contextOf())
    expect(rows!.map((row) => (row as Float32Array).length)).toEqual([2, 2, 2])
    expect(await hooks.modify!([[9, 9]], [base], contextOf())).toEqual([[9, 9]])
  })
})
