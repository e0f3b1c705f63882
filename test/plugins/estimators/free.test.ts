import { describe, expect, it } from 'vitest'
import spo from '../../../plugins/estimators/history/spo.ts'
import { createTracker, initialCounts, keptShare } from '../../../plugins/estimators/history/spo-tracker.ts'
import none from '../../../plugins/estimators/none.ts'
import remax from '../../../plugins/estimators/tokens/remax.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { createScriptedContext, type ScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

estimatorProperties(none, { shift: true, scale: true, centred: true, quietOnTies: true })
estimatorProperties(remax, { shift: false, scale: false, centred: false, quietOnTies: true })
estimatorProperties(spo, { shift: true, scale: true, centred: false, quietOnTies: false, binary: true })

const task = TASKS.find(({ name }) => name === 'basic_arithmetic')!
const promptAt = (seed: number) => ({ task: task.name, taskVersion: task.version, seed, difficulty: 0 })

describe('none', () => {
  it('has the policy not trained', () => {
    expect(none.manifest).toMatchObject({ update: false })
  })
})

describe('remax', () => {
  /** A policy whose most likely answer is right for even seeds. */
  const greedy = (limits = { context: 512, completion: 16 }): ScriptedContext =>
    createScriptedContext({
      tasks: TASKS,
      limits,
      write: (question) => {
        const seed = [0, 1, 2, 3].find((one) => task.generate(promptAt(one)).question === question)!
        return seed % 2 === 0 ? `<answer>${task.generate(promptAt(seed)).key}</answer>` : 'no idea'
      },
    })

  it('compares with the greedy answer to the same prompt', async () => {
    const context = greedy()
    const groups = [0, 1].map((seed) => groupOf([1, 0], { prompt: promptAt(seed) }))
    const said = await withSettings(remax).advantage!([...groups, groups[0]!], context)
    expect(said).toEqual([
      [0, -1],
      [1, 0],
      [0, -1],
    ])
    expect(context.asked.map(({ temperature, n }) => [temperature, n])).toEqual([
      [0, 1],
      [0, 1],
    ])
  })

  it('takes the mean where a plugin rewrote the prompt, or the budget is spent', async () => {
    const hinted = groupOf([1, 0], { prompt: promptAt(0), arm: 'hint' })
    expect(await withSettings(remax).advantage!([hinted], greedy())).toEqual([[0.5, -0.5]])
    const context = greedy()
    const groups = [0, 1].map((seed) => groupOf([1, 0], { prompt: promptAt(seed) }))
    expect(await withSettings(remax, { tokens: 17 }).advantage!(groups, context)).toEqual([
      [0, -1],
      [0.5, -0.5],
    ])
    expect(context.asked).toHaveLength(1)
  })
})

describe('the tracker of spo', () => {
  it('begins with answers that were counted before', () => {
    const of = (right: number) => initialCounts(right, 8, 0.875)
    const wanted = [
      [0.4444, 7.5556],
      [4, 4],
      [7.5556, 0.4444],
    ]
    ;[0, 4, 8].forEach((right, i) => {
      of(right).forEach((value, j) => {
        expect(value).toBeCloseTo(wanted[i]![j]!, 4)
      })
    })
    expect(initialCounts(0, 0, 0.875)).toEqual([0.5, 0.5])
  })

  it('keeps the less the further the policy has moved, within bounds', () => {
    const of = (moved: number) => keptShare(moved, { half: 0.06, least: 0.875, most: 0.96 })
    expect([of(0), of(0.01157), of(5)]).toEqual([0.96, 0.875, 0.875])
    expect(of(0.006)).toBeCloseTo(0.933033, 6)
  })

  it('adds an answer to what it keeps', () => {
    const tracker = createTracker({ half: 0.06, least: 0.875, most: 1 })
    // (4, 4): eight more of each half than the prior's, without fading.
    tracker.add('a', [...Array<number>(7).fill(0.5)], 0, undefined)
    expect(tracker.value('a')).toBe(0.5)
    tracker.add('a', [1], 0.006, undefined)
    expect(tracker.value('a')).toBeCloseTo(4.732132 / (4.732132 + 3.732132), 6)
  })

  it('goes on from a saved state, answers included', () => {
    const [one, two] = [0, 0].map(() => createTracker({ half: 0.06, least: 0.875, most: 0.96 }))
    const last = {
      conditioning: Int32Array.of(1, 2),
      tokens: Int32Array.of(3),
      logprobs: Float32Array.of(-0.5),
    }
    one!.add('a', [1], 0, last)
    one!.add('b', [0], 0, undefined)
    two!.load(one!.save())
    expect(two!.save()).toEqual(one!.save())
    expect(two!.last('a')).toEqual(last)
    expect(two!.value('b')).toBe(one!.value('b'))
  })
})

describe('spo', () => {
  const single = (seed: number, reward: number, logprob = -1): Group =>
    groupOf([rolloutOf(reward, 2, { behaviourLogprobs: new Float32Array(2).fill(logprob) })], {
      prompt: promptAt(seed),
    })
  const learn = (hooks: Hooks, groups: Group[], context = contextOf()) =>
    hooks.commit!({ step: 1, metrics: {}, groups, advantages: [] }, context)

  it('compares with the history of each prompt, then over the batch', async () => {
    const hooks = withSettings(spo)
    await learn(hooks, [single(1, 1), single(2, 0)])
    // (0.5 * 0.96 + 1) / 1.96 and 0.48 / 1.96 are promised.
    const [high, low] = [1.48 / 1.96, 0.48 / 1.96]
    const raw = [1 - high, 0 - high, 1 - low]
    const mean = raw.reduce((a, b) => a + b) / 3
    const std = Math.sqrt(raw.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 2)
    const said = await estimate(hooks, [single(1, 1), single(1, 0), single(2, 1)])
    expectClose(
      said.flat(),
      raw.map((x) => (x - mean) / std),
    )
  })

  it('says nothing about a batch in which all is as promised', async () => {
    expectClose((await estimate(withSettings(spo), [single(1, 1), single(2, 1)])).flat(), [0, 0])
  })

  it('weighs prompts by how open they are, new ones as even', async () => {
    const hooks = withSettings(spo)
    await learn(hooks, [single(1, 1)])
    const weights = await hooks.weigh!([promptAt(1), promptAt(2)], contextOf())
    const value = 1.48 / 1.96
    expectClose(Array.from(weights), [Math.sqrt(value * (1 - value)) + 0.05, 0.55])
  })

  it('forgets by how far the policy has moved from its last answer', async () => {
    const known = withSettings(spo)
    await learn(known, [single(1, 1, -1)])
    // The policy now gives each token -1.006.
    const now = createScriptedContext({
      tasks: TASKS,
      logprobs: ({ completion }) => [...completion].map(() => -1.006),
    })
    await learn(known, [single(1, 0)], now)
    const [kept, alpha, beta] = [2 ** -0.1, 1.48, 0.48]
    const value = (kept * alpha) / (kept * (alpha + beta) + 1)
    const [weight] = Array.from(await known.weigh!([promptAt(1)], contextOf()))
    expect(weight).toBeCloseTo(Math.sqrt(value * (1 - value)) + 0.05, 4)
    expect(now.metrics.moved).toBeCloseTo(0.006, 4)
  })

  it("counts this node's own plain answers only", async () => {
    const hooks = withSettings(spo)
    const view = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
    await hooks.group!([], view, contextOf())
    await learn(hooks, [
      { ...single(1, 1), author: 'peer' },
      { ...single(1, 1), arm: 'hint' },
    ])
    expect(Array.from(await hooks.weigh!([promptAt(1)], contextOf()))).toEqual([0.55])
  })
})
