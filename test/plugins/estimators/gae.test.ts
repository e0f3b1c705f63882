import { describe, expect, it } from 'vitest'
import gae, { advantagesOf } from '../../../plugins/estimators/critic/gae.ts'
import { headOf } from '../../../plugins/estimators/critic/state.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { contextOf, estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

// With a head that has learnt nothing, V is 0: rewards, whitened, which takes shift and scale out; where lambda
// discounts them, only the scale.
estimatorProperties(gae, { shift: true, scale: true, centred: false, quietOnTies: false })
estimatorProperties(gae, {
  settings: { lambda: 0.95 },
  shift: false,
  scale: true,
  centred: false,
  quietOnTies: false,
})

const values = (...numbers: number[]): Float64Array => Float64Array.from(numbers)

describe('the advantages', () => {
  // From the end: delta 1 - 0.4 = 0.6, A 0.6; delta 0.9 * 0.4 - 0.2 = 0.16, A 0.16 + 0.45 * 0.6 = 0.43;
  // delta 0.9 * 0.2 - 0.5 = -0.32, A -0.32 + 0.45 * 0.43 = -0.1265.
  const half = { gamma: 0.9, lambda: 0.5 }

  it('are the deltas to come, fading', () => {
    expectClose([...advantagesOf(rolloutOf(1, 3), values(0.5, 0.2, 0.4), half)], [-0.1265, 0.43, 0.6])
  })

  it("carry over an environment's tokens, which get nothing", () => {
    const lossMask = Uint8Array.of(1, 0, 1, 0, 0, 1, 0)
    const gaps = values(0.5, Number.NaN, 0.2, Number.NaN, Number.NaN, 0.4, Number.NaN)
    expectClose(
      [...advantagesOf(rolloutOf(1, 7, { lossMask }), gaps, half)],
      [-0.1265, 0, 0.43, 0, 0, 0.6, 0],
    )
  })

  it('take each turn its own reward, on its last token', () => {
    const turn = (start: number, reward: number) => ({ state: '', observation: '', start, length: 2, reward })
    const episode = rolloutOf(1.5, 5, {
      lossMask: Uint8Array.of(1, 1, 0, 1, 1),
      turns: [turn(0, 0.5), turn(3, 0.75)],
    })
    // Rewards 0, 0.5, -, 0, 0.75 + 0.25: what was added to the episode's reward is the last turn's. At gamma = lambda = 1
    // A is what is to come, less V.
    const given = values(0.1, 0.2, Number.NaN, 0.3, 0.4)
    expectClose([...advantagesOf(episode, given, { gamma: 1, lambda: 1 })], [1.4, 1.3, 0, 0.7, 0.6])
    // At lambda 0 they are the deltas: 0.1, 0.5 + 0.1, 0.1, 1 - 0.4.
    expectClose([...advantagesOf(episode, given, { gamma: 1, lambda: 0 })], [0.1, 0.6, 0, 0.1, 0.6])
  })

  it('let a turn without a token leave its reward to the one before', () => {
    const turns = [
      { state: '', observation: '', start: 0, length: 2, reward: 0 },
      { state: '', observation: '', start: 3, length: 0, reward: 1 },
    ]
    const episode = rolloutOf(1, 3, { lossMask: Uint8Array.of(1, 1, 0), turns })
    expectClose([...advantagesOf(episode, values(0, 0, Number.NaN), { gamma: 1, lambda: 0 })], [0, 1, 0])
  })
})

it('takes a rollout of which the policy wrote nothing', async () => {
  const nothing = rolloutOf(1, 2, { lossMask: Uint8Array.of(0, 0) })
  const [[row]] = (await estimate(withSettings(gae), [groupOf([nothing, rolloutOf(1, 2)])])) as [number[][]]
  expect(row).toEqual([0, 0])
})

it('whitens over the tokens of the batch', async () => {
  // Raw: 0.5, 1 and 0, 0. Mean 0.375; variance (0.125^2 + 0.625^2 + 2 * 0.375^2) / 3 = 0.2291667, its root 0.478714.
  const [[right, wrong]] = (await estimate(withSettings(gae, { lambda: 0.5 }), [
    groupOf([rolloutOf(1, 2), rolloutOf(0, 2)]),
  ])) as [number[][]]
  expectClose(right!, [0.261116, 1.305582])
  expectClose(wrong!, [-0.783349, -0.783349])
})

describe('the critic', () => {
  /** Answers that begin with one token are right, those with another wrong. */
  const batch = (): Group[] =>
    Array.from({ length: 4 }, () =>
      groupOf([0, 1].map((reward) => rolloutOf(reward, 4, { tokens: Int32Array.of(reward, 2, 2, 2) }))),
    )
  const play = async (hooks: ReturnType<typeof withSettings>, steps: number) => {
    const said: unknown[] = []
    const explained: Array<number | undefined> = []
    for (let step = 0; step < steps; step++) {
      const groups = batch()
      const context = createScriptedContext({ step, hidden: ({ completion }) => seen(completion) })
      const advantages = await hooks.advantage!(groups, context)
      said.push(advantages.map((row) => row.map((tokens) => [...(tokens as Float32Array)])))
      await hooks.commit!({ step, metrics: {}, groups, advantages }, context)
      explained.push(context.metrics.explained_variance)
    }
    return { said, explained }
  }
  /** Whether the first token has been seen, and which it was. */
  const seen = (completion: string) =>
    Array.from(completion, (_, t) => [1, t === 0 ? 0 : 1, t > 0 && completion.codePointAt(0) === 1 ? 1 : 0])

  it('finds out which token it hung on, so that the others get next to nothing', async () => {
    const hooks = withSettings(gae, { head: { rate: 0.05 } })
    const { said, explained } = await play(hooks, 60)
    // Before the first token V can be no better than 0.5: a quarter of the tokens is not explained.
    expect(explained.at(-1)).toBeGreaterThan(0.7)
    expect(explained.at(-1)).toBeLessThan(0.76)
    const [wrong, right] = (said.at(-1) as number[][][])[0]!
    expect(right![0]! - wrong![0]!).toBeGreaterThan(2)
    for (const t of [1, 2, 3]) expect(Math.abs(right![t]! - wrong![t]!)).toBeLessThan(0.6)
  })

  it("learns nothing from a batch before its update, and nothing from peers' rollouts", async () => {
    const hooks = withSettings(gae)
    const view = { lineage: 'a', tokenizer: 'b', version: 0, self: 'self' }
    const own = [groupOf([1, 0, 1])]
    expect(await estimate(hooks, own)).toEqual(await estimate(hooks, own))
    expect(await hooks.save!()).toHaveLength(0)
    const peers = [groupOf([rolloutOf(1, 2), rolloutOf(0, 2)], { author: 'peer' })]
    await hooks.group!(peers, view, contextOf())
    const commit = async (groups: Group[]) => {
      const advantages = await hooks.advantage!(groups, contextOf())
      await hooks.commit!({ step: 1, metrics: {}, groups, advantages }, contextOf())
      return headOf(await hooks.save!())!.spread
    }
    expect((await commit(peers)).seen).toBe(0)
    expect((await commit(own)).seen).toBe(3)
  })

  it('says which rollouts are worth more in groups of one', async () => {
    const alone: Rollout[] = [rolloutOf(1, 2), rolloutOf(0, 2)]
    const said = (await estimate(
      withSettings(gae),
      alone.map((one) => groupOf([one])),
    )) as number[][][]
    expect(said[0]![0]![1]).toBeGreaterThan(0)
    expect(said[1]![0]![1]).toBeLessThan(0)
  })
})
