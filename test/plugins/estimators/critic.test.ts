import { describe, expect, it } from 'vitest'
import { createCritic, headSettings, quality } from '../../../plugins/estimators/critic/critic.ts'
import {
  type FitOptions,
  fitted,
  type Head,
  newHead,
  predicted,
} from '../../../plugins/estimators/critic/head.ts'
import { headBytes, headOf } from '../../../plugins/estimators/critic/state.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { groupOf, rolloutOf } from '../samples.ts'

const OPTIONS: FitOptions = { rate: 0.05, epochs: 20, batch: 32, decay: 0, clip: null }
const WIDTH = 6
/** Coordinates whose sizes are far apart, around something that is not 0. */
const SIZES = [0.1, 0.3, 1, 3, 10, 30]

/** States and what they are worth: linear in them, by the coordinate's size. */
function samplesOf(count: number, name: string) {
  const dice = diceFor(name)
  const states = new Float32Array(count * WIDTH)
  const targets = Float64Array.from({ length: count }, (_, row) => {
    const standard = SIZES.map(() => dice.below(2001) / 1000 - 1)
    states.set(
      standard.map((value, i) => SIZES[i]! * (value + 2)),
      row * WIDTH,
    )
    return 0.5 + 0.3 * standard[0]! - 0.2 * standard[3]! + 0.1 * standard[5]!
  })
  return { states, targets, said: new Float64Array(count) }
}

const random = (name: string) => createScriptedContext().random(name)
const saidBy = (head: Head, states: Float32Array): Float64Array =>
  Float64Array.from({ length: states.length / head.width }, (_, row) =>
    predicted(head, states, row * head.width),
  )

describe('a value head', () => {
  it('learns what is linear in the states, whatever the sizes of their coordinates', () => {
    let head = newHead(WIDTH)
    const fresh = samplesOf(200, 'others')
    const explained: number[] = []
    for (let batch = 0; batch < 8; batch++) {
      explained.push(quality([[saidBy(head, fresh.states)]], [[fresh.targets]]).explained_variance!)
      head = fitted(head, samplesOf(256, `batch ${batch}`), OPTIONS, random(`${batch}`))!
    }
    expect(explained[0]).toBeCloseTo(0, 6)
    expect(explained[1]).toBeGreaterThan(0.4)
    expect(explained.at(-1)).toBeGreaterThan(0.99)
  })

  it('gives the same for the same seed, and something else for another order', () => {
    const headOfOrder = (name: string) =>
      fitted(newHead(WIDTH), samplesOf(100, 'same'), { ...OPTIONS, epochs: 2 }, random(name))!
    expect(headOfOrder('a')).toEqual(headOfOrder('a'))
    expect([...headOfOrder('a').weights]).not.toEqual([...headOfOrder('b').weights])
  })

  it('says the same of a state however the statistics have moved since', () => {
    const first = fitted(newHead(WIDTH), samplesOf(100, 'first'), OPTIONS, random('first'))!
    // Weights that nothing pulls at stay as they are: targets are what is said.
    const { states } = samplesOf(100, 'second')
    const moved = {
      states: states.map((value) => 3 * value),
      targets: new Float64Array(),
      said: new Float64Array(),
    }
    const said = saidBy(first, moved.states)
    const second = fitted(
      first,
      { ...moved, targets: said, said },
      { ...OPTIONS, epochs: 1, rate: 1e-12 },
      random('x'),
    )!
    expect(second.spread.mean[2]).not.toBeCloseTo(first.spread.mean[2]!, 1)
    saidBy(second, moved.states).forEach((value, row) => {
      expect(value).toBeCloseTo(said[row]!, 6)
    })
  })

  it('passes over samples that are not finite, and stays as it was where nothing finite would come of them', () => {
    const good = samplesOf(64, 'good')
    const holed = { ...good, states: good.states.slice(), targets: good.targets.slice() }
    holed.states[3 * WIDTH] = Number.POSITIVE_INFINITY
    holed.targets[5] = Number.NaN
    const head = fitted(newHead(WIDTH), holed, OPTIONS, random('a'))!
    expect([head.bias, ...head.weights].every(Number.isFinite)).toBe(true)
    expect(head.spread.seen).toBe(62)
    const huge = { ...good, targets: good.targets.map(() => Number.MAX_VALUE) }
    expect(fitted(head, huge, OPTIONS, random('a'))).toBeUndefined()
    const none = { ...good, targets: good.targets.map(() => Number.NaN) }
    expect(fitted(head, none, OPTIONS, random('a'))).toBe(head)
    expect(
      predicted(
        head,
        Float32Array.from({ length: WIDTH }, () => Number.NaN),
        0,
      ),
    ).toBe(0)
  })

  it('is led no further than the clip from what it said', () => {
    // One state, worth 1, of which 0 was said: without a bound V comes near 1.
    const one = { states: Float32Array.of(1, 0), targets: Float64Array.of(1), said: Float64Array.of(0) }
    const ledTo = (clip: number | null) =>
      predicted(fitted(newHead(2), one, { ...OPTIONS, epochs: 64, clip }, random('a'))!, one.states, 0)
    expect(ledTo(null)).toBeGreaterThan(0.9)
    // Steps are of the rate at most, and AdamW's momentum outlives the gradient by some.
    expect(ledTo(0.2)).toBeLessThan(0.8)
    expect(ledTo(0.2)).toBeGreaterThan(0.2)
  })

  it('is the same after being written down and read', () => {
    const head = fitted(newHead(WIDTH), samplesOf(50, 'kept'), OPTIONS, random('a'))!
    expect(headOf(headBytes(head))).toEqual(head)
    expect(headOf(headBytes(undefined))).toBeUndefined()
    const short = { ...head, spread: { ...head.spread, mean: head.spread.mean.slice(1) } }
    expect(() => headOf(headBytes(short))).toThrow(/do not have its width/)
    expect(() => headOf(headBytes({ ...head, width: 5 }))).toThrow(/do not have its width/)
    const broken = { ...head, weights: head.weights.map(() => Number.NaN) }
    expect(() => headOf(headBytes(broken))).toThrow(/not finite/)
    expect(() => headOf(headBytes(head).subarray(1))).toThrow(/damaged/)
  })
})

describe('a critic', () => {
  /** What comes before a token says what it is worth. */
  const worth = (code: number): number => (code % 7) / 7
  const hidden = ({ conditioning, completion }: { conditioning: string; completion: string }) =>
    [...(conditioning.at(-1) + completion).slice(0, -1)].map((character) =>
      Array.from({ length: 7 }, (_, i) => (character.codePointAt(0)! % 7 === i ? 5 : 0)),
    )
  const contextOf = (step: number) => createScriptedContext({ step, hidden })
  const batchOf = (step: number, more: Partial<Group> = {}): Group[] => {
    const dice = diceFor(`batch ${step}`)
    return Array.from({ length: 4 }, () =>
      groupOf(
        Array.from({ length: 4 }, () =>
          rolloutOf(1, 12, { tokens: Int32Array.from({ length: 12 }, () => 97 + dice.below(26)) }),
        ),
        { conditioning: Int32Array.of(97 + dice.below(26)), ...more },
      ),
    )
  }
  const targetsOf = (groups: readonly Group[]): Float64Array[][] =>
    groups.map(({ rollouts, conditioning }) =>
      rollouts.map(({ tokens }) =>
        Float64Array.from(tokens, (_, t) => worth(t === 0 ? conditioning[0]! : tokens[t - 1]!)),
      ),
    )
  const all = { isSeen: () => true, isFitted: () => true }
  const settings = (given: object = {}) => headSettings.parse(given)

  async function taught(critic: ReturnType<typeof createCritic>, from: number, to: number) {
    const metrics: Record<string, number>[] = []
    for (let step = from; step < to; step++) {
      const context = contextOf(step)
      const groups = batchOf(step)
      critic.hold(await critic.look(groups, all, context), targetsOf(groups), context)
      critic.fit(context)
      metrics.push({ ...context.metrics })
    }
    return metrics
  }

  it('explains more and more of batches that it has not seen', async () => {
    const metrics = await taught(createCritic(settings({ rate: 0.05 })), 0, 30)
    expect(metrics[0]!.explained_variance).toBeCloseTo(0, 6)
    expect(metrics.at(-1)!.explained_variance).toBeGreaterThan(0.95)
    expect(metrics.at(-1)!.value_loss).toBeLessThan(metrics[0]!.value_loss! / 20)
  })

  it('says nothing new of a batch before it has been fitted, and forgets one that was lost', async () => {
    const critic = createCritic(settings())
    await taught(critic, 0, 2)
    const groups = batchOf(9)
    const before = await critic.look(groups, all, contextOf(9))
    critic.hold(before, targetsOf(groups), contextOf(9))
    const state = critic.save()
    expect((await critic.look(groups, all, contextOf(9))).values).toEqual(before.values)
    critic.fit(contextOf(9))
    expect(critic.save()).toEqual(state)
  })

  it('goes on from what was saved as if nothing had happened', async () => {
    const whole = createCritic(settings())
    await taught(whole, 0, 6)
    const [first, second] = [createCritic(settings()), createCritic(settings())]
    await taught(first, 0, 3)
    second.load(Uint8Array.from(first.save()))
    await taught(second, 3, 6)
    expect(second.save()).toEqual(whole.save())
  })

  it('is fitted on no more tokens than it may, drawn evenly and the same for a seed', async () => {
    const critic = createCritic(settings({ tokens: 50 }))
    const groups = batchOf(1)
    const { kept } = await critic.look(groups, all, contextOf(1))
    expect(kept.positions).toHaveLength(50)
    expect(kept.states).toHaveLength(50 * 7)
    expect(new Set(kept.positions.map((place) => JSON.stringify(place))).size).toBe(50)
    expect(new Set(kept.positions.map(({ group }) => group)).size).toBe(4)
    // Each state is the one of its place.
    kept.positions.forEach(({ group, rollout, token }, i) => {
      const { tokens } = groups[group]!.rollouts[rollout]!
      const code = token === 0 ? groups[group]!.conditioning[0]! : tokens[token - 1]!
      expect(kept.states[i * 7 + (code % 7)]).toBe(5)
    })
    expect((await critic.look(groups, all, contextOf(1))).kept).toEqual(kept)
  })

  it("is not fitted on an environment's tokens, nor on groups or rollouts that are left out", async () => {
    const critic = createCritic(settings())
    const masked = rolloutOf(1, 3, { lossMask: Uint8Array.of(1, 0, 1) })
    const groups = [
      groupOf([masked, rolloutOf(Number.NaN, 3)]),
      groupOf([rolloutOf(1, 3)], { author: 'peer' }),
    ]
    const chosen = {
      isSeen: ({ reward }: { reward: number }) => Number.isFinite(reward),
      isFitted: ({ author }: { author: string }) => author === 'self',
    }
    const { kept, values } = await critic.look(groups, chosen, contextOf(1))
    expect(kept.positions.map(({ group, rollout, token }) => [group, rollout, token])).toEqual([
      [0, 0, 0],
      [0, 0, 2],
    ])
    expect(values.map((row) => row.map((tokens) => [...tokens]))).toEqual([
      [[0, Number.NaN, 0], []],
      [[0, 0, 0]],
    ])
  })

  it('scores in portions, which change nothing', async () => {
    const long = Array.from({ length: 5 }, (_, i) =>
      rolloutOf(1, 3000, { tokens: new Int32Array(3000).fill(97 + i) }),
    )
    const sizes: number[] = []
    const context = contextOf(1)
    const counting = {
      ...context,
      score: (...given: Parameters<typeof context.score>) => {
        sizes.push(given[0].reduce((sum, { completion }) => sum + completion.length, 0))
        return context.score(...given)
      },
    }
    const critic = createCritic(settings())
    const { values, logprobs } = await critic.look([groupOf(long)], all, counting)
    expect(sizes).toEqual([6000, 6000, 3000])
    expect(values[0]!.map(({ length }) => length)).toEqual(Array(5).fill(3000))
    expect(logprobs[0]!.map(({ length }) => length)).toEqual(Array(5).fill(3000))
  })
})
