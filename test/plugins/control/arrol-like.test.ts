import { describe, expect, it } from 'vitest'
import arrolLike, { keptOf } from '../../../plugins/control/arrol-like.ts'
import { createPredictor } from '../../../plugins/control/predictor.ts'
import type { Hooks, LiveRollout } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const prompt = { task: 'basic_arithmetic', taskVersion: 1, seed: 1, difficulty: 0 }
/** So sure of each of ten tokens. */
const beginning = (logprob: number) => ({
  behaviourLogprobs: new Float32Array(10).fill(logprob),
  entropies: new Float32Array(10).fill(-logprob),
})
const finished = (reward: number, logprob: number) => rolloutOf(reward, 10, beginning(logprob))
/** The surer, the likelier right: at -0.5 half are. */
const known = (): Group[] =>
  Array.from({ length: 20 }, (_, i) =>
    groupOf([finished(1, -0.1), finished(0, -0.9), finished(i % 2, -0.5), finished(1 - (i % 2), -0.5)]),
  )
const live = (logprobs: readonly number[], tokens = 8, done: readonly number[] = []): LiveRollout[] =>
  logprobs.map((logprob, i) => ({
    ...{ id: `0.${i}`, ask: 0, prompt, tokens, fresh: tokens, done: done.includes(i) },
    ...{ logprob: tokens * logprob, entropy: -tokens * logprob },
  }))
const steer = async (hooks: Hooks, rollouts: LiveRollout[], begun = rollouts.length) => {
  const asks = [{ prompt, rollouts: begun, live: rollouts.length, done: 0 }]
  return [...(await hooks.steer!(rollouts, { version: 0, want: 1, asks }, contextOf()))]
}
const taught = async (given: object = {}): Promise<Hooks> => {
  const hooks = withSettings(arrolLike, { after: 8, ...given })
  await hooks.observe!(known(), contextOf())
  return hooks
}

describe('arrol_like', () => {
  it('keeps the surest successes and failures, so that half of them should be right', async () => {
    const six = live([-0.1, -0.5, -0.2, -0.8, -0.45, -0.9])
    expect(await steer(await taught({ keep: 0.5 }), live([-0.1, -0.5, -0.5, -0.9]))).toEqual([
      ['0.1', 'drop'],
      ['0.2', 'drop'],
    ])
    expect(await steer(await taught({ keep: 2 / 3 }), six)).toEqual([
      ['0.1', 'drop'],
      ['0.4', 'drop'],
    ])
    // All of these will probably fail, so that the least unlikely ones are kept.
    expect(await steer(await taught(), live([-0.7, -0.9, -0.8, -0.6]))).toEqual([
      ['0.1', 'drop'],
      ['0.2', 'drop'],
    ])
  })

  it('waits for the slowest, drops once, and nothing that has ended', async () => {
    const hooks = await taught()
    const all = [-0.1, -0.5, -0.5, -0.9]
    expect(await steer(hooks, [...live(all.slice(1)), { ...live(all)[0]!, tokens: 7 }])).toEqual([])
    expect(await steer(hooks, live(all, 8, [1]))).toEqual([['0.2', 'drop']])
    expect(await steer(hooks, live([-0.1, -0.9, -0.5]), 4)).toEqual([])
  })

  it('drops nothing before it knows enough, of both kinds', async () => {
    const hooks = withSettings(arrolLike, { after: 8, warmUp: 64 })
    const all = live([-0.1, -0.5, -0.5, -0.9])
    await hooks.observe!(known().slice(0, 15), contextOf())
    expect(await steer(hooks, all)).toEqual([])
    await hooks.observe!(known().slice(0, 1), contextOf())
    expect(await steer(hooks, all)).not.toEqual([])
    const failures = withSettings(arrolLike, { after: 8, warmUp: 2 })
    await failures.observe!([groupOf([finished(0, -0.1), finished(0, -0.9)])], contextOf())
    expect(await steer(failures, all)).toEqual([])
  })

  it('learns from own answers to the plain question alone', async () => {
    const hooks = withSettings(arrolLike, { after: 8, warmUp: 4 })
    const foreign = known().map(({ rollouts, ...group }) => ({
      ...group,
      rollouts: rollouts.map((one) => ({ ...one, prefix: 2 })),
    }))
    await hooks.observe!([...foreign, ...known().map((group) => ({ ...group, arm: 'hint' }))], contextOf())
    expect(await steer(hooks, live([-0.1, -0.5, -0.5, -0.9]))).toEqual([])
  })

  it('chooses by the mean alone', () => {
    expect([...keptOf([0.9, 0.8, 0.1], 2, 0.5)]).toEqual([0, 2])
    expect([...keptOf([0.3, 0.2, 0.1], 2, 0.5)]).toEqual([0, 1])
    expect([...keptOf([0.9, 0.8, 0.7], 2, 0.5)]).toEqual([1, 2])
    expect([...keptOf([0.2], 4, 0.5)]).toEqual([0])
  })
})

describe('the predictor', () => {
  it('finds the chances that examples were drawn with', () => {
    const predictor = createPredictor(10)
    // log odds 2 x: chances 0.12 at x = -1, 0.5 at 0, 0.88 at 1.
    const chances = [
      [-1, 0.12],
      [0, 0.5],
      [1, 0.88],
    ] as const
    for (let i = 0; i < 100; i++) for (const [x, chance] of chances) predictor.add([x], i < 100 * chance)
    predictor.fit()
    for (const [x, chance] of chances) expect(predictor.chance([x])).toBeCloseTo(chance, 2)
  })

  it('stays finite where one number tells everything, and where numbers say the same', () => {
    const predictor = createPredictor(4)
    for (const x of [-2, -1, 1, 2]) predictor.add([x, x, 7], x > 0)
    predictor.fit()
    const chances = [-9, -1, 0, 1, 9].map((x) => predictor.chance([x, x, 7]))
    expect(chances.every((chance) => chance >= 0 && chance <= 1)).toBe(true)
    expect(chances).toEqual([...chances].sort((a, b) => a - b))
  })
})
