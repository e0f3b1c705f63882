// What the learner does for plugins beside the update: estimators without one, groups without a signal that are kept all the
// same, and models of roles.

import { expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { randomStream } from '../../daemon/host/random.ts'
import type { LivePolicy } from '../../daemon/policy/live-policy.ts'
import { createLearner, type LearnerOptions } from '../../daemon/trainer/learner.ts'
import type { Role } from '../../daemon/trainer/roles.ts'
import type { Plugin } from '../../protocol/plugin/index.ts'
import { ADAMW } from '../engine/model.ts'
import { setUp as openHost, plugin } from '../host/setup.ts'
import { group } from './groups.ts'

async function setUp(
  plugins: readonly Plugin[],
  { estimator = 'grpo', ...more }: { estimator?: string } & Partial<LearnerOptions> = {},
) {
  const { host, troubles } = await openHost(plugins, { estimator: { use: estimator } })
  let version = 3
  const trained: number[] = []
  const denominators: number[] = []
  const trainer = {
    async train({ sequences, denominator }) {
      trained.push(sequences.length)
      denominators.push(denominator)
      return {
        applied: true,
        loss: 0,
        gradientNorm: 1,
        metrics: {},
        completionTokens: 1,
        realTokens: 1,
        computedTokens: 1,
        microBatches: 1,
        seconds: 0,
      }
    },
  } as Partial<Engine> as Engine
  const policy = {
    trainer,
    spec: { contextLength: 64 },
    reference: () => ({ lineage: 'a', tokenizer: 'b', version }),
    async advance(steps: number) {
      version += steps
    },
  } as unknown as LivePolicy
  const learnt: number[] = []
  const writer = {
    name: 'writer',
    async learn(groups) {
      learnt.push(groups.length)
      return groups.length > 0 ? { texts: 2, loss: 0, gradientNorm: 1, reward: 0.5 } : undefined
    },
  } as Partial<Role> as Role
  const learner = createLearner(
    {
      sizes: { own: 2, foreign: 0 },
      minibatches: 1,
      temperature: 1,
      optimizer: ADAMW,
      warmUpSteps: 0,
      self: 'me',
      adaptive: false,
      ...more,
    },
    {
      policy,
      host,
      random: (stream) => randomStream(1, stream),
      cost: () => 1,
      peers: () => 0,
      onFinding() {},
      roles: new Map([['writer', writer]]),
      restore: async () => undefined,
    },
  )
  const batch = (...rewards: number[][]) => ({
    groups: rewards.map((of, i) => group(of, { seed: i + 1 })),
    learnForeign: false,
    compare: false,
  })
  return { learner, batch, trained, denominators, learnt, troubles, version: () => version }
}

const text = {
  conditioning: Int32Array.of(1),
  tokens: Int32Array.of(2),
  logprobs: Float32Array.of(-1),
  reward: 1,
}
const writes = () =>
  plugin(
    'writes',
    'hint',
    { commit: () => ({ train: [{ role: 'writer', rollouts: [text, { ...text, reward: 0 }] }] }) },
    { roles: [{ name: 'writer', trainable: true }] },
  )

test('under an estimator without an update a step is counted, and nothing is trained', async () => {
  let committed = 0
  const counts = plugin('counts', 'skill', {
    commit({ step, groups }) {
      committed += 1
      expect([step, groups.length]).toEqual([4, 2])
      return undefined
    },
  })
  const { learner, batch, trained, version } = await setUp([counts], { estimator: 'none' })
  const report = await learner.train(batch([1, 1], [0, 1]))
  expect(report).toMatchObject({ step: 4, own: 2, loss: 0 })
  expect([trained, committed, version()]).toEqual([[], 1, 4])
})

test('a group that is longer than the model can read is dropped, and the batch is trained on without it', async () => {
  const { learner, batch, trained } = await setUp([])
  const chosen = batch([0, 1], [0, 1])
  chosen.groups[0] = { ...chosen.groups[0]!, conditioning: new Int32Array(64) }
  expect(await learner.train(chosen)).toMatchObject({ own: 1, dropped: 1 })
  expect(trained).toEqual([2])
})

test('groups without a signal are dropped, but for those that a plugin has advantages for', async () => {
  const { learner, batch, trained } = await setUp([])
  expect((await learner.train(batch([1, 1], [0, 1])))?.own).toBe(1)
  const { groups, ...rest } = batch([1, 1, 1], [0, 1])
  expect(
    (await learner.train({ ...rest, groups: groups.map((one) => ({ ...one, always: true })) }))?.own,
  ).toBe(2)
  expect(trained).toEqual([2, 5])
})

test('losses are aggregated as the node is told to', async () => {
  const { learner, batch, denominators } = await setUp([], {
    aggregation: { mode: 'fixed_length', length: 64 },
  })
  await learner.train(batch([0, 1], [0, 1, 1]))
  expect(denominators).toEqual([5 * 64])
})

test('roles learn after the update, and where there was nothing to train on', async () => {
  const { learner, batch, learnt, trained } = await setUp([writes()])
  const report = await learner.train(batch([0, 1], [1, 0]))
  expect(report?.pluginMetrics).toMatchObject({ 'writer.texts': 2, 'writer.reward': 0.5 })
  expect(await learner.train(batch([1, 1], [0, 0]))).toBeUndefined()
  await learner.settle()
  expect([learnt, trained]).toEqual([[1, 1, 1], [4]])
})

test('what an earlier run found out about peers is told and kept by one that meets none, and costs it no comparison', async () => {
  const sizes = { own: 1, foreign: 4 }
  const waiting = { own: [group([0, 1], { seed: 1 })], foreign: [] }
  const theirs = [group([0, 1], { seed: 2, author: 'peer' })]
  const { learner: earlier } = await setUp([], { sizes })
  expect([earlier.choose(waiting)?.compare, earlier.sharing()]).toEqual([false, undefined])
  expect(earlier.choose({ ...waiting, foreign: theirs })?.compare).toBe(true)
  const restored = earlier.state()
  const { learner } = await setUp([], { sizes, restored })
  expect(learner.choose(waiting)?.compare).toBe(false)
  expect(learner.sharing()).toEqual(earlier.sharing())
  expect(learner.state()).toEqual(restored)
  expect(learner.choose({ ...waiting, foreign: theirs })?.compare).toBe(true)
})
