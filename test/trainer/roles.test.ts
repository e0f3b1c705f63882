// A model of a plugin's own beside the policy: it learns from the texts that its plugin judged, as GRPO does, and goes
// back to where a checkpoint had it.

import { expect, test } from 'vitest'
import { configSchema } from '../../daemon/config/schema.ts'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { optimizerOf } from '../../daemon/node/core.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { openRole } from '../../daemon/trainer/roles.ts'
import { openRoleModel } from '../../daemon/wiring/node-plugins.ts'
import type { RoleGroup } from '../../protocol/plugin/index.ts'
import { ADAMW, randomTokens, randomWeights, SPEC } from '../engine/model.ts'

const tokenizer = { pieces: () => Array.from({ length: SPEC.vocabulary }, (_, i) => String(i)) } as never
const optimizer = () => ({ ...ADAMW, learningRate: 1e-2 })

async function setUp(trainable = true) {
  const engine = createCore({ threads: 1, now: () => 0 })
  const initial = randomWeights(SPEC, 1, 0.3)
  const role = await openRole(
    { name: 'writer', trainable, spec: SPEC, initial, optimizer },
    { engine: engine as never, tokenizer },
  )
  const conditioning = randomTokens(SPEC, 5, 1)
  const texts = [2, 3, 4].map((seed) => randomTokens(SPEC, 6, seed))
  const logprobs = async (temperature = 1) =>
    (
      await engine.score({
        sequences: texts.map((completion) => ({ conditioning, completion })),
        temperature,
      })
    ).map(({ logprobs: all }) => all)
  /** As if they had just been written; the temperature is left out where it is none. */
  const groupOf = async (rewards: readonly number[], temperature?: number): Promise<RoleGroup> => {
    const now = await logprobs(temperature)
    return {
      role: 'writer',
      rollouts: texts.map((tokens, i) => ({
        ...{ conditioning, tokens, logprobs: now[i]!, reward: rewards[i]! },
        ...(temperature === undefined ? {} : { temperature }),
      })),
    }
  }
  const sum = (values: Float32Array): number => values.reduce((a, b) => a + b, 0)
  return { engine, role, initial, groupOf, likely: async () => (await logprobs()).map(sum) }
}

test('what was judged better becomes likelier, the rest less so', async () => {
  const { role, groupOf, likely } = await setUp()
  const before = await likely()
  const report = await role.learn([await groupOf([1, 0, 0])])
  expect(report).toMatchObject({ texts: 3, reward: 1 / 3 })
  const after = await likely()
  expect(after[0]! - before[0]!).toBeGreaterThan(0)
  expect(after[1]! - before[1]!).toBeLessThan(after[0]! - before[0]!)
})

test('the clip holds: a text that has become much likelier since it was written is not pushed further', async () => {
  const { role, groupOf, likely, engine } = await setUp()
  const group = await groupOf([1, 0, 0])
  const stored = group.rollouts.map((rollout, i) => ({
    ...rollout,
    // As if the policy had moved by a factor of e^2 for each token since: beyond the clip on its side.
    logprobs: rollout.logprobs.map((value) => value - (i === 0 ? 2 : -2)),
  }))
  const before = [await likely(), await engine.weights()]
  const report = await role.learn([{ role: 'writer', rollouts: stored }])
  expect(report?.gradientNorm).toBe(0)
  expect([await likely(), await engine.weights()]).toEqual(before)
})

test('texts are learnt from at the temperature that they were written at', async () => {
  for (const temperature of [undefined, 0.5, 2]) {
    const { role, groupOf, likely } = await setUp()
    const before = await likely()
    const report = await role.learn([await groupOf([1, 0, 0], temperature)])
    // No token is likelier or less likely than when it was written, so that the advantages of texts that are as long as one
    // another add up to nothing.
    expect(Math.abs(report!.loss)).toBeLessThan(1e-5)
    expect(report!.gradientNorm).toBeGreaterThan(0)
    expect((await likely())[0]! - before[0]!).toBeGreaterThan(0)
  }
})

test('texts of several temperatures are learnt from at each, and those that were not drawn at all at none', async () => {
  const { role, groupOf } = await setUp()
  const both = [await groupOf([1, 0, 0], 0.5), await groupOf([0, 1, 1])]
  expect(await role.learn(both)).toMatchObject({ texts: 6, reward: 0.5 })
  expect(await role.learn([await groupOf([1, 0, 0], 0)])).toBeUndefined()
})

test('texts that were all judged alike teach nothing, nor does a role that is not to learn', async () => {
  const { role, groupOf, engine, initial } = await setUp()
  expect(await role.learn([await groupOf([1, 1, 1])])).toBeUndefined()
  expect(await role.learn([])).toBeUndefined()
  const frozen = await setUp(false)
  expect(await frozen.role.learn([await frozen.groupOf([1, 0, 0])])).toBeUndefined()
  expect(await engine.weights()).toEqual(initial)
})

test('it goes back to a state with its optimizer, or to where it began', async () => {
  const { role, groupOf, engine, initial } = await setUp()
  await role.learn([await groupOf([1, 0, 0])])
  const state = await role.state()
  await role.learn([await groupOf([0, 0, 1])])
  expect(await engine.weights()).not.toEqual(state.weights)
  await role.goBack(state)
  expect(await role.state()).toEqual(state)
  await role.goBack(undefined)
  expect(await engine.weights()).toEqual(initial)
})

test('a learning rate that changes while the node runs reaches a model that has none of its own', async () => {
  const config = configSchema.parse({ training: { learning_rate: 1e-3 } })
  const rates: number[] = []
  const engine = {
    open: async () => {},
    async train({ optimizer: { learningRate } }: TrainRequest) {
      rates.push(learningRate)
      return { applied: true, loss: 0, gradientNorm: 1 }
    },
  } as unknown as Engine
  const model = { spec: SPEC, weights: {}, digest: 'a'.repeat(64), tokenizer } as unknown as Model
  const open = (learningRate: number | undefined) =>
    openRoleModel(
      { name: 'writer', trainable: true, model: undefined, learningRate },
      {
        ...{ engine, model, adapter: undefined, seed: 1, restore: async () => undefined },
        optimizer: () => optimizerOf(config),
      },
    )
  const [following, fixed] = [await open(undefined), await open(0.5)]
  const one = { conditioning: Int32Array.of(1), tokens: Int32Array.of(2), logprobs: Float32Array.of(-1) }
  const groups = [{ role: 'writer', rollouts: [1, 0].map((reward) => ({ ...one, reward })) }]
  await following.learn(groups)
  config.training.learning_rate = 2e-3
  await following.learn(groups)
  await fixed.learn(groups)
  expect(rates).toEqual([1e-3, 2e-3, 0.5])
})
