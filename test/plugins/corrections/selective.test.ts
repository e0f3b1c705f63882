import { describe, expect, it } from 'vitest'
import d3sLike, { mostVaried } from '../../../plugins/corrections/d3s-like.ts'
import srpoLike from '../../../plugins/corrections/srpo-like.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

describe('what d3s learns from', () => {
  const of = (...advantages: number[]) => advantages.map((advantage) => ({ advantage }))

  it('are the rollouts with the largest variance of advantages', () => {
    expect(mostVaried(of(2, 0.1, -0.1, -1), 2)).toEqual(of(2, -1))
    // Variances of 2.89 and 2.67: one high and two low ones.
    expect(mostVaried(of(3, 1, 0, -1), 3)).toEqual(of(3, 0, -1))
    expect(mostVaried(of(1, -1), 5)).toHaveLength(2)
    expect(mostVaried([], 0)).toEqual([])
  })

  it('are of these the tokens where advantage and entropy are large, as if there were no others', async () => {
    // Of four rollouts of two tokens the first and the last stay; of their four tokens the first rollout's two. Eight
    // tokens count as two, so each of these weighs four.
    const settings = { rollouts: [0.5, 1], batch: 1, tokens: [0.5, 1], steps: 10 }
    const groups = [groupOf(Array.from({ length: 4 }, () => rolloutOf(0, 2)))]
    const { weight } = await withSettings(d3sLike, settings).columns!(
      [[2, 0.1, -0.1, Float32Array.of(-1, -1)]],
      groups,
      contextOf(),
    )
    const plain = (weight as Float32Array[][]).map((rows) => rows.map((row) => [...row]))
    expect(plain).toEqual([
      [
        [4, 4],
        [0, 0],
        [0, 0],
        [0, 0],
      ],
    ])
  })

  it('grow to everything, and never include an environment’s tokens', async () => {
    const settings = { batch: 1, steps: 10 }
    const groups = [groupOf([rolloutOf(1, 2, { lossMask: Uint8Array.of(1, 0) }), rolloutOf(0, 1)])]
    const { weight } = await withSettings(d3sLike, settings).columns!([[1, -1]], groups, contextOf(10))
    expect((weight as Float32Array[][])[0]!.map((row) => [...row])).toEqual([[1, 0], [1]])
  })
})

describe('wrong answers in srpo', () => {
  const right = rolloutOf(1, 2, { text: 'the sum is 5' })
  /** The second token of a wrong answer is likelier, the first far less likely, after a prompt that shows the right one. */
  const context = () =>
    createScriptedContext({
      tasks: TASKS,
      logprobs: ({ conditioning }) => (conditioning.includes('the sum is 5') ? [-9, -0.5] : [-1, -1]),
    })

  it('learn towards what the policy would write after a right one', async () => {
    const groups = [groupOf([right, rolloutOf(0, 2)]), groupOf([0, 0])]
    const told = context()
    const changed = await withSettings(srpoLike, { strength: 2 }).modify!(
      [
        [0.7, -0.7],
        [-1, -1],
      ],
      groups,
      told,
    )
    expect(changed[0]![0]).toBe(0.7)
    // Gaps of -8, cut at -1, and 0.5; the scripted entropy is 1 nat.
    const taught = changed[0]![1] as Float32Array
    for (const [t, value] of [-2 / Math.E, 1 / Math.E].entries()) expect(taught[t]).toBeCloseTo(value, 6)
    expect(changed[1]).toEqual([-1, -1])
    expect(told.metrics.routed).toBe(1)
  })

  it('keep their advantages where the right one does not fit, in episodes and after other prompts', async () => {
    const hooks = withSettings(srpoLike)
    const turns = [{ state: '', observation: '', start: 0, length: 2, reward: 0 }]
    for (const [group, limits] of [
      [groupOf([right, rolloutOf(0, 2)]), { context: 8, completion: 8 }],
      [groupOf([right, rolloutOf(0, 2)], { arm: 'hint' }), undefined],
      [groupOf([right, rolloutOf(0, 2, { turns })]), undefined],
    ] as const) {
      const given = limits ? createScriptedContext({ tasks: TASKS, limits }) : context()
      expect(await hooks.modify!([[1, -1]], [group], given)).toEqual([[1, -1]])
    }
  })
})
