// Without plugins beyond the defaults a node is plain GRPO, to the last bit: the same weights after some steps as on a
// path that has no host at all. (That its rounds write the same rollouts is shown in test/rollout/round.test.ts.)

import { expect, test } from 'vitest'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { update } from '../../daemon/trainer/update.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import { ADAMW, randomWeights, SPEC } from '../engine/model.ts'
import { withSettings } from '../plugins/samples.ts'
import { group } from '../trainer/groups.ts'
import { plugin, setUp } from './setup.ts'

const STEPS = 4
const REWARDS = [
  [1, 0, 0, 1],
  [0, 0, 1, 0],
]
const batchOf = (step: number) =>
  REWARDS.map((rewards, i) => group(rewards, { seed: 10 * step + i, version: 3 }))
const options = (version: number) => ({
  temperature: 1,
  minibatches: 1,
  optimizer: ADAMW,
  self: 'me',
  lineage: 'a',
  version,
  learnForeign: false,
  compare: false,
  isBelieved: () => true,
  earnedWeight: () => 1,
})
const random = () => randomStream(1, 'cut')

async function openEngine() {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1, 0.3) })
  return core
}

/** Reward minus the mean, over the sample standard deviation and 1e-6. */
function grpo(rewards: readonly number[]): number[] {
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length
  const variance = rewards.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (rewards.length - 1)
  return rewards.map((reward) => (reward - mean) / (Math.sqrt(variance) + 1e-6))
}

async function withoutHost() {
  const engine = await openEngine()
  const objective = assembleObjective([{ name: 'clip', correction: withSettings(clip).correct!() }])
  for (let step = 0; step < STEPS; step++)
    await update(batchOf(step), REWARDS.map(grpo), options(3 + step), {
      engine: engine as never,
      objective,
      random: random(),
    })
  return engine.weights()
}

async function withHost(given: Parameters<typeof setUp>[0]) {
  const engine = await openEngine()
  const { plugins } = await setUp(given, { corrections: [{ use: 'clip' }, { use: 'staleness' }] })
  for (let step = 0; step < STEPS; step++) {
    const version = 3 + step
    const batch = plugins.batch({ step: version })
    const groups = await batch.group(batchOf(step), { lineage: 'a', tokenizer: 'b', version, self: 'me' })
    const advantages = await batch.advantage(groups)
    const report = await update(groups, advantages, options(version), {
      engine: engine as never,
      objective: plugins.objective,
      random: random(),
    })
    await batch.commit({ step: version + 1, metrics: report.metrics, groups, advantages })
  }
  return engine.weights()
}

test('the defaults give the weights of plain GRPO, bit for bit, and so do plugins that do nothing', async () => {
  const plain = await withoutHost()
  expect(plain).not.toEqual(randomWeights(SPEC, 1, 0.3))
  expect(await withHost([])).toEqual(plain)
  const idle = plugin('idle', 'control', {
    group: (groups) => groups,
    modify: (advantages) => advantages,
    observe() {},
    commit: () => undefined,
  })
  expect(await withHost([idle])).toEqual(plain)
  const halves = plugin('halves', 'control', {
    modify: (advantages) => advantages.map((rows) => rows.map((row) => (row as number) / 2)),
  })
  expect(await withHost([halves])).not.toEqual(plain)
})
