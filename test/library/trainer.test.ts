import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createTrainer, type Model, openModel } from '../../daemon/library/index.ts'
import { definePlugin } from '../../protocol/plugin/index.ts'

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
