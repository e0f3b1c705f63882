import { describe, expect, it } from 'vitest'
import { advantagesOf } from '../../../plugins/estimators/critic/gae.ts'
import { headOf } from '../../../plugins/estimators/critic/state.ts'
import { hasSampler, ratiosOf, type TraceBounds, traceOf } from '../../../plugins/estimators/critic/trace.ts'
import vTrace from '../../../plugins/estimators/critic/v-trace.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group, Rollout } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

// Nobody wrote down how likely the tokens of these groups were: taken as this policy's own. A new head says 0, and A is the
// reward, which is 0 in the group of equal rewards.
estimatorProperties(vTrace, {
  settings: { unknown: 'keep' },
  shift: false,
  scale: false,
  centred: false,
  quietOnTies: true,
})
estimatorProperties(vTrace, {
  settings: { unknown: 'keep', critic: 'group_mean' },
  shift: true,
  scale: false,
  centred: false,
  quietOnTies: true,
})

const BOUNDS: TraceBounds = { rhoBar: 1, cBar: 1, pgCap: 1, gamma: 1, lambda: 1 }
const numbers = (...values: number[]): Float64Array => Float64Array.from(values)

describe('the trace', () => {
  const given = { rewards: numbers(0, 0, 1), values: numbers(0.5, 0.2, 0.4), ratios: numbers(2, 0.5, 0.8) }

  it('corrects advantages and targets from the end', () => {
    // Last: rho 0.8, delta 0.8 * 0.6 = 0.48, v 0.88, A 0.48. Before: rho = c = 0.5, delta 0.5 * (0.9 * 0.4 - 0.2) = 0.08,
    // v 0.2 + 0.08 + 0.9 * 0.5 * (0.88 - 0.4) = 0.496, A 0.5 * (0.9 * 0.88 - 0.2) = 0.296. First: rho = c = 1 for a ratio of 2,
    // delta 0.9 * 0.2 - 0.5 = -0.32, v 0.5 - 0.32 + 0.9 * (0.496 - 0.2) = 0.4464, A 0.9 * 0.496 - 0.5 = -0.0536.
    const { advantages, targets } = traceOf(rolloutOf(1, 3), given, { ...BOUNDS, gamma: 0.9 })
    expectClose([...advantages], [-0.0536, 0.296, 0.48])
    expectClose([...targets], [0.4464, 0.496, 0.88])
  })

  it('has a bound for each of its three ratios, and a lambda', () => {
    // First token alone at other bounds: delta rho * -0.32, v 0.5 - 0.32 rho + 0.9 c * 0.296, A cap * -0.0536.
    const first = (bounds: Partial<TraceBounds>): number[] => {
      const { advantages, targets } = traceOf(rolloutOf(1, 3), given, { ...BOUNDS, gamma: 0.9, ...bounds })
      return [advantages[0]!, targets[0]!]
    }
    expectClose(first({ rhoBar: 1.5 }), [-0.0536, 0.5 - 0.48 + 0.2664])
    expectClose(first({ cBar: 1.5 }), [-0.0536, 0.5 - 0.32 + 1.5 * 0.2664])
    expectClose(first({ pgCap: 1.5 }), [-0.0804, 0.4464])
    // At lambda 0 v is V + delta everywhere: 0.28 at the second, so A = 0.9 * 0.28 - 0.5.
    expectClose(first({ lambda: 0 }), [-0.248, 0.18])
  })

  it("carries over an environment's tokens", () => {
    const lossMask = Uint8Array.of(1, 0, 1, 0, 1)
    const spread = (values: Float64Array, empty: number): Float64Array =>
      numbers(values[0]!, empty, values[1]!, empty, values[2]!)
    const { advantages, targets } = traceOf(
      rolloutOf(1, 5, { lossMask }),
      {
        rewards: spread(given.rewards, 0),
        values: spread(given.values, Number.NaN),
        ratios: spread(given.ratios, 1),
      },
      { ...BOUNDS, gamma: 0.9 },
    )
    expectClose([...advantages], [-0.0536, 0, 0.296, 0, 0.48])
    expect([targets[1], targets[3]]).toEqual([Number.NaN, Number.NaN])
    expectClose([targets[0]!, targets[2]!, targets[4]!], [0.4464, 0.496, 0.88])
  })

  it('is GAE at lambda 1 for what this policy wrote', () => {
    const dice = diceFor('on policy')
    for (let i = 0; i < 20; i++) {
      const length = dice.between(1, 9)
      const values = Float64Array.from({ length }, () => dice.below(1000) / 500 - 1)
      const rollout = rolloutOf(dice.below(100) / 50, length)
      const rewards = new Float64Array(length)
      rewards[length - 1] = rollout.reward
      const ratios = new Float64Array(length).fill(1)
      const { advantages } = traceOf(rollout, { rewards, values, ratios }, { ...BOUNDS, gamma: 0.9 })
      expectClose([...advantages], [...advantagesOf(rollout, values, { gamma: 0.9, lambda: 1 })])
    }
  })
})

describe('the ratios', () => {
  const sampled = (...behaviour: number[]): Rollout =>
    rolloutOf(1, behaviour.length, { behaviourLogprobs: Float32Array.from(behaviour) })

  it('are of the policy over the sampler, bounded before they are exponents', () => {
    const ratios = ratiosOf(sampled(-1, -1, -60, -0.5), Float32Array.of(-1, -2, -1, -90))!
    expectClose([ratios[0]!, ratios[1]!], [1, Math.exp(-1)])
    expect(ratios[2]).toBeCloseTo(Math.exp(20), -1)
    expect(ratios[3]).toBeCloseTo(Math.exp(-20), 12)
  })

  it('are not made of log-probs that are none', () => {
    expect(ratiosOf(sampled(-1, -1), Float32Array.of(-1, Number.NaN))).toBeUndefined()
    expect(hasSampler(sampled(-1, -1e-9))).toBe(true)
    expect(hasSampler(sampled(-1, 0))).toBe(true)
    for (const impossible of [sampled(0, 0), sampled(-1, 0.1), sampled(-1, Number.NaN), rolloutOf(1, 2)])
      expect(hasSampler(impossible)).toBe(false)
    expect(hasSampler(rolloutOf(1, 3, { behaviourLogprobs: Float32Array.of(-1, -1) }))).toBe(false)
    // What stands at an environment's tokens is nobody's.
    const lossMask = Uint8Array.of(1, 0)
    expect(hasSampler({ ...sampled(-1, 7), lossMask })).toBe(true)
    expect(hasSampler({ ...sampled(0, -7), lossMask })).toBe(false)
  })
})

/** As `behaviour` of a policy that gives every token -1. */
const ofRatios = (...ratios: number[]): Float32Array =>
  Float32Array.from(ratios, (ratio) => -1 - Math.log(ratio))

async function said(groups: Group[], settings: object, step = 0) {
  const context = contextOf(step)
  const rows = await withSettings(vTrace, { ...settings }).advantage!(groups, context)
  return {
    rows: rows.map((row) => row.map((value) => (typeof value === 'number' ? value : [...value]))),
    metrics: context.metrics,
  }
}

describe("with the group's mean for a critic", () => {
  const settings = { critic: 'group_mean' }

  it('weighs by the bounded ratios of the token and all after it, and so not as `tis` does', async () => {
    const ratios = [0.5, 2, 0.8]
    const group = groupOf([
      rolloutOf(1, 3, { behaviourLogprobs: ofRatios(...ratios) }),
      rolloutOf(0, 3, { behaviourLogprobs: ofRatios(1, 1, 1) }),
    ])
    const [[right, wrong]] = (await said([group], settings)).rows as [number[][]]
    // 0.5 times 0.8, 0.8 and 0.5 * 0.8.
    expectClose(right!, [0.2, 0.4, 0.4])
    expectClose(wrong!, [-0.5, -0.5, -0.5])
    // By token `tis` at a cap of 1 has 0.25, 0.5, 0.4; by row min(1, 0.5 * 2 * 0.8) = 0.8 everywhere: 0.4.
    const byToken = ratios.map((ratio) => 0.5 * Math.min(1, ratio))
    expect(right![0]).not.toBeCloseTo(byToken[0]!, 2)
    expect(right![1]).not.toBeCloseTo(byToken[1]!, 2)
    expect(right![2]).toBeCloseTo(byToken[2]!, 5)
    expect(right![0]).not.toBeCloseTo(0.5 * Math.min(1, 0.5 * 2 * 0.8), 2)
  })

  it('is truncated importance sampling by token where no later ratio is below 1', async () => {
    const dice = diceFor('truncated')
    for (let i = 0; i < 10; i++) {
      const length = dice.between(1, 6)
      const ratios = Array.from({ length }, (_, t) => (t === 0 ? 0.4 : 1) + dice.below(100) / 50)
      const group = groupOf([
        rolloutOf(1, length, { behaviourLogprobs: ofRatios(...ratios) }),
        rolloutOf(0, 1, { behaviourLogprobs: ofRatios(1) }),
      ])
      const [[right]] = (await said([group], settings)).rows as [number[][]]
      expectClose(
        right!,
        ratios.map((ratio) => 0.5 * Math.min(1, ratio)),
      )
    }
  })

  it('takes the whole reward at the end, turns or not', async () => {
    const turns = [0.25, 0.75].map((reward, i) => ({
      state: '',
      observation: '',
      start: i,
      length: 1,
      reward,
    }))
    const behaviourLogprobs = ofRatios(1, 1)
    const group = groupOf([
      rolloutOf(1, 2, { turns, behaviourLogprobs }),
      rolloutOf(0, 2, { behaviourLogprobs }),
    ])
    const [[right, wrong]] = (await said([group], settings)).rows as [number[][]]
    expectClose(right!, [0.5, 0.5])
    expectClose(wrong!, [-0.5, -0.5])
  })
})

describe('rollouts whose sampler is unknown', () => {
  const known = (reward: number) => rolloutOf(reward, 2, { behaviourLogprobs: ofRatios(1, 0.5) })
  const group = () => groupOf([known(1), rolloutOf(1, 2), known(0), known(0)])

  it('are left out of everything, or taken as this policy wrote them', async () => {
    const masked = await said([group()], { critic: 'group_mean' })
    // The mean of 1, 0, 0.
    expectClose(masked.rows[0]!, [1 / 3, 1 / 3, 0, -1 / 6, -1 / 6, -1 / 6, -1 / 6].flat())
    expect(masked.metrics.unknown).toBeCloseTo(0.25)
    expect(masked.metrics.ratio).toBeCloseTo(0.75)
    const kept = await said([group()], { critic: 'group_mean', unknown: 'keep' })
    // The mean of 1, 1, 0, 0.
    expectClose(kept.rows[0]!, [0.25, 0.25, 0.5, 0.5, -0.25, -0.25, -0.25, -0.25])
    expect(kept.metrics.unknown).toBe(0)
  })

  it('teach the head nothing', async () => {
    const seen = async (settings: object) => {
      const hooks = withSettings(vTrace, { ...settings })
      const groups = [group()]
      const advantages = await hooks.advantage!(groups, contextOf())
      await hooks.commit!({ step: 1, metrics: {}, groups, advantages }, contextOf())
      return headOf(await hooks.save!())!.spread.seen
    }
    expect(await seen({})).toBe(6)
    expect(await seen({ unknown: 'keep' })).toBe(8)
  })
})

describe('with a head', () => {
  /** Answers in groups of one: right after token 1, wrong after 0; a sampler that preferred 0 to 1. */
  const batch = (): Group[] =>
    Array.from({ length: 16 }, (_, i) => {
      const first = i % 4 === 0 ? 1 : 0
      const tokens = Int32Array.of(first, 2)
      return groupOf([
        rolloutOf(first, 2, { tokens, behaviourLogprobs: ofRatios(first === 1 ? 2 : 2 / 3, 1) }),
      ])
    })
  const play = async (hooks: ReturnType<typeof withSettings>, steps: number) => {
    const all: number[][][] = []
    for (let step = 0; step < steps; step++) {
      const groups = batch()
      const context = createScriptedContext({
        step,
        hidden: ({ completion }) => [
          [1, 0, 0],
          [0, completion.codePointAt(0) === 1 ? 1 : 0, completion.codePointAt(0) === 0 ? 1 : 0],
        ],
      })
      const advantages = await hooks.advantage!(groups, context)
      all.push(advantages.map(([row]) => [...(row as Float32Array)]))
      await hooks.commit!({ step, metrics: {}, groups, advantages }, context)
    }
    return all
  }
  const SETTINGS = { rhoBar: 10, cBar: 10, pgCap: 10, head: { rate: 0.05 } }

  it('learns what this policy gets, not what the sampler got', async () => {
    const last = (await play(withSettings(vTrace, SETTINGS), 100)).at(-1)!
    // A quarter of the answers is right, of this policy's one half: 1/4 * 2 against 3/4 * 2/3. After the first token nothing is
    // left to be learnt; at it A is the ratio times what it is worth over V = 0.5.
    expect(last[0]![0]! / 2).toBeCloseTo(0.5, 1)
    expect(last[1]![0]! / (2 / 3)).toBeCloseTo(-0.5, 1)
    expect(Math.abs(last[0]![1]!)).toBeLessThan(0.1)
    expect(Math.abs(last[1]![1]!)).toBeLessThan(0.1)
  })
})
