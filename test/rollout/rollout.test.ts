import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { evaluate } from '../../daemon/rollout/evaluate.ts'
import { generateRound } from '../../daemon/rollout/generate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
const tasks = createTaskBook(TASKS, [
  { name: 'basic_arithmetic', difficulty: 0 },
  { name: 'fraction_simplification' },
])
let model: Model
let engine: Engine
let parts: { engine: Engine; tokenizer: Model['tokenizer']; tasks: typeof tasks }

beforeAll(async () => {
  model = await loadModel(DEFAULT, { disk })
  engine = createOnnxEngine({ threads: 1 })
  await engine.open(model)
  parts = { engine, tokenizer: model.tokenizer, tasks }
})
afterAll(() => engine.close())

const round = (signal?: AbortSignal) =>
  generateRound(
    {
      asks: [3, 4].map((seed) => ({
        prompt: { task: 'basic_arithmetic', taskVersion: TASKS[0]!.version, seed, difficulty: 0 },
        rollouts: 4,
      })),
      policy: { lineage: model.digest, tokenizer: model.tokenizer.digest, version: 7 },
      maxNewTokens: 32,
      temperature: 1,
      author: 'me',
      sampleSeed: (index) => index,
      now: () => 1000,
      ...(signal ? { signal } : {}),
    },
    parts,
  )

test('a group holds what the sampler saw and wrote, and the reward that the verifier gave', async () => {
  const { groups, tokens } = await round()
  expect(groups).toHaveLength(2)
  expect(tokens).toBe(groups.flatMap((g) => g.rollouts).reduce((sum, r) => sum + r.tokens.length, 0))
  for (const group of groups) {
    const instance = TASKS[0]!.generate(group.prompt)
    expect(group.conditioning).toEqual(model.tokenizer.encodePrompt(instance.question))
    expect(group.rollouts).toHaveLength(4)
    for (const rollout of group.rollouts) {
      expect(rollout.behaviourLogprobs).toHaveLength(rollout.tokens.length)
      expect(rollout.reward).toBe(TASKS[0]!.verify(instance, rollout.text).score)
      expect(rollout.segments).toEqual([{ version: 7, start: 0, length: rollout.tokens.length }])
    }
  }
  expect((await round()).groups).toEqual(groups)
})

test('an aborted round leaves out what was not finished', async () => {
  expect((await round(AbortSignal.abort())).groups).toEqual([])
})

test('evaluation asks held-out prompts, the same ones each time', async () => {
  const options = { promptsPerTask: 20, maxNewTokens: 48, temperature: 0 }
  const first = await evaluate(options, parts)
  expect(first.map(({ task, prompts }) => [task, prompts])).toEqual([
    ['basic_arithmetic', 20],
    ['fraction_simplification', 20],
  ])
  expect(await evaluate(options, parts)).toEqual(first)
  expect(await evaluate({ ...options, tasks: ['fraction_simplification'] }, parts)).toEqual([first[1]])
  await expect(evaluate({ ...options, tasks: ['bf'] }, parts)).rejects.toThrow(/does not train on "bf"/)
})

test('a task book refuses tasks and levels that do not exist', () => {
  expect(() => createTaskBook(TASKS, [{ name: 'chess' }])).toThrow(/no task "chess"/)
  expect(() => createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 99 }])).toThrow(
    /difficulties 0 to/,
  )
})

test('a waker misses nothing that happens between looking and waiting', async () => {
  const waker = createWaker()
  const never = new AbortController()
  const seen = waker.count
  waker.wake()
  await waker.after(seen, never.signal)
  const waiting = waker.after(waker.count, never.signal)
  never.abort()
  await waiting
})
