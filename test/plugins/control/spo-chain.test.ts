import { describe, expect, it } from 'vitest'
import spoChain from '../../../plugins/control/spo-chain.ts'
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
