import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createTrainer, type Model, openModel } from '../../daemon/library/index.ts'
import { defineEnvironment, definePlugin, defineTask, type Task } from '../../protocol/plugin/index.ts'

// Engines start and models are read; a busy machine takes long.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let model: Model

beforeAll(async () => {
  model = await openModel('default', { threads: 1 })
})

afterAll(() => model.close())

const SMALL = { seed: 3, prompts: 3, groupSize: 3, maxNewTokens: 32, warmUpSteps: 1 }

test('a round answers prompts, verifies the answers and takes a step; the same seed repeats it', async () => {
  const other = await openModel('default', { threads: 1 })
  const reports = await Promise.all(
    [model, other].map(async (one) => {
      const trainer = await createTrainer(one, { ...SMALL, tasks: ['basic_arithmetic'] })
      const { update, ...round } = await trainer.round()
      await trainer.close()
      return { ...round, loss: update?.loss, groups: round.groups.map(({ id }) => id) }
    }),
  )
  await other.close()
  expect(reports[0]).toEqual(reports[1])
  expect(reports[0]).toMatchObject({ version: 1 })
  expect(reports[0]!.groups).toHaveLength(3)
  expect(model.version).toBe(1)
})

test('a plugin of one’s own takes part, by its object', async () => {
  const seen: number[][] = []
  const mine = definePlugin({
    api: 1,
    kind: 'estimator',
    name: 'mine',
    summary: 'rewards as they are',
    settings: z.strictObject({ scale: z.number().default(1) }),
    create: ({ scale }) => ({
      advantage: (groups) =>
        groups.map(({ rollouts }) => {
          const rewards = rollouts.map(({ reward }) => scale * (reward - 0.5))
          seen.push(rewards)
          return rewards
        }),
    }),
  })
  const trainer = await createTrainer(model, {
    ...SMALL,
    tasks: [{ name: 'basic_arithmetic', difficulty: 1 }],
    estimator: { use: 'mine', scale: 2 },
    plugins: [mine],
  })
  const round = await trainer.round()
  await trainer.close()
  expect(round.update === undefined).toBe(seen.length === 0)
})

test('held-out accuracy is the same each time the weights are', async () => {
  const trainer = await createTrainer(model, { ...SMALL, tasks: ['basic_arithmetic'] })
  const [first, again] = [
    await trainer.evaluate({ promptsPerTask: 4 }),
    await trainer.evaluate({ promptsPerTask: 4 }),
  ]
  await trainer.close()
  expect(first).toEqual(again)
  expect(first.questions).toBe(4)
})

test('wrong tasks, plugins and numbers are refused with what there is', async () => {
  const make = (options: object) =>
    createTrainer(model, { ...SMALL, tasks: ['basic_arithmetic'], ...options })
  await expect(make({ tasks: ['basic_arithmetics'] })).rejects.toThrow(/Did you mean/)
  await expect(make({ tasks: [] })).rejects.toThrow(/no task/)
  await expect(make({ estimator: 'nothing' })).rejects.toThrow(/built-in ones are/)
  await expect(make({ prompts: 0 })).rejects.toThrow(/prompts .* not 0/)
  await expect(make({ prompt: 4 })).rejects.toThrow(/Did you mean "prompts"/)
  await expect(make({ tasks: 'basic_arithmetic' })).rejects.toThrow(/tasks have to be a list/)
  await expect(make({ temperature: 0 })).rejects.toThrow(/temperature .* not 0/)
  await expect(make({ plugins: [{}] })).rejects.toThrow('plugins[0]: the object is not a plugin')
  await expect(make({ estimator: {} })).rejects.toThrow(/it has no name/)
  await expect(make({ estimator: 'nothing' })).rejects.toMatchObject({
    hint: expect.not.stringContaining('config'),
  })
})

test('plugins that do not fit are refused in words of the options', async () => {
  const refused = (options: object) =>
    createTrainer(model, { ...SMALL, tasks: ['basic_arithmetic'], ...options }).catch(
      ({ message }) => message,
    )
  const made = await Promise.all([
    refused({ estimator: 'spo' }),
    refused({ corrections: ['clip', 'tis', 'tis'] }),
  ])
  expect(made).toEqual([
    expect.stringMatching(/needs recurring prompts: .*: take the plugin out$/),
    expect.stringMatching(/in the options twice/),
  ])
  for (const text of made) expect(text).not.toMatch(/config|rollout\./)
})

test('an estimator that fails rejects with its name and hook, or costs only its batch', async () => {
  const broken = definePlugin({
    api: 1,
    kind: 'estimator',
    name: 'broken',
    summary: 'fails',
    manifest: { signal: 'any' },
    settings: z.strictObject({}),
    create: () => ({
      advantage: () => {
        throw new Error('boom')
      },
    }),
  })
  const options = { ...SMALL, tasks: ['basic_arithmetic'], estimator: 'broken', plugins: [broken] }
  const strict = await createTrainer(model, options)
  await expect(strict.round()).rejects.toMatchObject({
    code: 'E_PLUGIN',
    message: 'plugin broken, hook advantage: boom',
  })
  await strict.close()
  const troubles: string[] = []
  const lenient = await createTrainer(model, { ...options, onTrouble: (text) => troubles.push(text) })
  const { groups, update } = await lenient.round()
  await lenient.close()
  expect(groups).toHaveLength(3)
  expect(update).toBeUndefined()
  expect(troubles).toEqual(['plugin broken, hook advantage: boom'])
})

test('answers end where `stop` says', async () => {
  const trainer = await createTrainer(model, { ...SMALL, tasks: ['basic_arithmetic'], stop: ['='] })
  const { groups } = await trainer.round()
  await trainer.close()
  const answers = groups.flatMap(({ rollouts }) => rollouts.map(({ text }) => text))
  const ended = answers.filter((text) => text.includes('='))
  expect(ended.length).toBeGreaterThan(0)
  for (const text of ended) expect(text.indexOf('=')).toBe(text.trimEnd().length - 1)
})

const ONE_LEVEL = { min: 0, max: 0, default: 0, describe: () => 'the only one' }
const ownTask = (more: object = {}): Task =>
  defineTask({
    ...{ name: 'own', kind: 'task', api: 1, summary: 'Sums.', version: 1, difficulty: ONE_LEVEL },
    generate: ({ seed }) => ({ question: `Work out ${seed % 90} + 1`, key: `${(seed % 90) + 1}`, steps: [] }),
    verify: ({ key }, text) => ({ score: text.includes(key) ? 1 : 0, answer: null, found: 'none' }),
    ...more,
  } as Task)
const throws = (): never => {
  throw new Error('boom')
}
const walk = (step: unknown): Task =>
  defineEnvironment({
    ...{ name: 'walk', summary: 'Walks.', version: 1, difficulty: ONE_LEVEL },
    generate: ({ seed }) => ({ question: `From ${seed % 9}`, key: 'D', steps: [], data: {} }),
    environment: { reset: () => ({}), step: step as never, key: () => 'here' },
  })

test('an own task takes part, also one whose methods lie in a class', async () => {
  class Sums {
    name = 'own'
    kind = 'task' as const
    api = 1 as const
    summary = 'Sums.'
    version = 1
    difficulty = ONE_LEVEL
    generate = ownTask().generate
    verify(...[instance, text]: Parameters<Task['verify']>) {
      return ownTask().verify(instance, text)
    }
  }
  for (const task of [ownTask(), new Sums()]) {
    const trainer = await createTrainer(model, { ...SMALL, tasks: [task] })
    expect((await trainer.round()).groups).toHaveLength(3)
    await trainer.close()
  }
})

test.each<[string, unknown, RegExp]>([
  ['is nothing', null, /^tasks\[0\] is no name/],
  ['has no verifier', ownTask({ verify: undefined }), /^the task "own" has no function `verify`$/],
  ['has no generator', ownTask({ generate: undefined }), /^the task "own" has no function `generate`$/],
  ['throws as it asks', ownTask({ generate: throws }), /"own" cannot generate with seed \d+ .*: boom$/],
  ['asks nothing', ownTask({ generate: () => ({ key: '1', steps: [] }) }), /"own" generates no `question`/],
  ['throws as it scores', ownTask({ verify: throws }), /^task own: boom$/],
  ['scores later', ownTask({ verify: async () => ({ score: 1 }) }), /^task own: `verify` gave no score/],
  ['throws at a turn', walk(throws), /^task walk: boom$/],
  ['has a turn without an outcome', walk(() => undefined), /^task walk: `step` gave no `observation`/],
])('an own task that %s rejects with E_TASK, and the program goes on', async (_, task, message) => {
  const play = async () => {
    const trainer = await createTrainer(model, { ...SMALL, tasks: [task as Task] })
    await trainer.round().finally(() => trainer.close())
  }
  await expect(play()).rejects.toMatchObject({ code: 'E_TASK', message: expect.stringMatching(message) })
})

test('with onTrouble, an answer on which an own task fails scores 0', async () => {
  const troubles: string[] = []
  const options = { ...SMALL, tasks: [ownTask({ verify: throws })] }
  const trainer = await createTrainer(model, { ...options, onTrouble: (text) => troubles.push(text) })
  expect((await trainer.round()).reward).toBe(0)
  await trainer.close()
  expect(new Set(troubles)).toEqual(new Set(['task own: boom']))
})
