import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { passAt, shareOf } from '../../daemon/rollout/evaluation/estimates.ts'
import { figuresOf, scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { questionsFor } from '../../protocol/api/index.ts'
import { writeGroups } from '../../scripts/lab/nodes/write-groups.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
const tasks = createTaskBook(TASKS, [
  { name: 'basic_arithmetic', difficulty: 0 },
  { name: 'fraction_simplification' },
])
let model: Model
let engine: Engine
let parts: { sampler: Engine; tokenizer: Model['tokenizer']; tasks: typeof tasks }

beforeAll(async () => {
  model = await loadModel(DEFAULT, { disk })
  engine = createOnnxEngine({ threads: 1 })
  await engine.open({ ...model, version: 7 })
  parts = { sampler: engine, tokenizer: model.tokenizer, tasks }
})
afterAll(() => engine.close())

const mean10 = (x: number): number => new Array(10).fill(x).reduce((a, b) => a + b, 0) / 10

const round = (signal?: AbortSignal) =>
  writeGroups(
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

test('an aborted round leaves out unfinished groups', async () => {
  expect((await round(AbortSignal.abort())).groups).toEqual([])
})

test('evaluation asks held-out prompts, the same ones each time', async () => {
  const options = { promptsPerTask: 12, maxNewTokens: 48, samples: 2 }
  const first = await scorePrompts(options, parts)
  expect(
    first.map(({ task, greedy, sampled }) => [task, greedy.length, sampled.map((s) => s.length)]),
  ).toEqual(['basic_arithmetic', 'fraction_simplification'].map((task) => [task, 12, new Array(12).fill(2)]))
  expect(await scorePrompts(options, parts)).toEqual(first)
  const [alone] = await scorePrompts({ ...options, tasks: ['fraction_simplification'] }, parts)
  expect(alone!.greedy).toEqual(first[1]!.greedy)
  await expect(scorePrompts({ ...options, tasks: ['bf'] }, parts)).rejects.toThrow(/does not train on "bf"/)
})

test('figures count prompts and not answers, and treat tasks alike whatever their sizes', () => {
  const scores = [
    {
      task: 'a',
      difficulty: 1,
      sampled: [
        [1, 1, 0, 0],
        [0, 0, 0, 0],
      ],
      greedy: [1, 0],
    },
    { task: 'b', difficulty: 2, sampled: [[1, 1, 1, 1]], greedy: [1] },
  ]
  const { parts: both, overall } = figuresOf(scores, 4)
  expect(both[0]).toMatchObject({ task: 'a', difficulty: 1, prompts: 2, samples: 4 })
  expect(both[0]!.sampled.value).toBe(0.25)
  // Two of four right: 1 - C(2, 2) / C(4, 2) = 5/6.
  expect(both[0]!.passAtK['2']!.value).toBeCloseTo(5 / 12, 12)
  expect(both[0]!.passAtK['4']!.value).toBe(0.5)
  // Two of four right: C(2, 2) / C(4, 2) = 1/6, and never all of four; the other task has all of all.
  expect(both[0]!.passAllK!['1']!.value).toBe(0.25)
  expect(both[0]!.passAllK!['2']!.value).toBeCloseTo(1 / 12, 12)
  expect(both[0]!.passAllK!['4']!.value).toBe(0)
  expect(overall.passAllK!['4']!.value).toBe(0.5)
  expect(overall.sampled.value).toBe(0.625)
  expect(overall.greedy.value).toBe(0.75)
})

test('an evaluation knows which difference it can show, and how many questions another one takes', () => {
  const figuresFor = (prompts: number, answers: number[]) =>
    figuresOf(
      [
        {
          task: 'a',
          difficulty: 0,
          sampled: new Array(prompts).fill(answers),
          greedy: new Array(prompts).fill(1),
        },
      ],
      answers.length,
    ).overall.detectable!
  // 2.8016 sqrt(2 x 0.25 / 400) at one half, where Wilson's centre is one half, too.
  const half = Array.from({ length: 400 }, (_, i) => [i % 2])
  const { detectable } = figuresOf(
    [{ task: 'a', difficulty: 0, sampled: half, greedy: half.flat() }],
    1,
  ).overall
  expect(detectable!.sampled).toBeCloseTo(0.09905, 4)
  expect(questionsFor(0.05, { questions: 400, shown: detectable!.sampled })).toBe(1570)
  // The textbook's number: 0.5 against 0.55 takes 1565 in each sample.
  expect(questionsFor(0.05, { questions: 400, shown: detectable!.sampled }) / 1565).toBeCloseTo(1, 2)
  // None right of ten is no certainty.
  expect(figuresFor(10, [0]).sampled).toBeGreaterThan(0.2)
  // Answers that say the same of a question are no further questions.
  const twice = figuresOf(
    [{ task: 'a', difficulty: 0, sampled: half.map(([one]) => [one!, one!]), greedy: half.flat() }],
    2,
  ).overall.detectable!
  expect(twice.sampled).toBeCloseTo(detectable!.sampled, 12)
})

test("intervals are Wilson's, also where every answer is right", () => {
  // Newcombe 1998, table I: 81 of 263, and 0 of 20.
  const { low, high } = shareOf([...new Array(81).fill(1), ...new Array(182).fill(0)])
  expect([low, high].map((x) => x.toFixed(4))).toEqual(['0.2553', '0.3662'])
  expect(shareOf(new Array(20).fill(0)).high).toBeCloseTo(0.1611, 4)
  expect(shareOf(new Array(20).fill(1)).low).toBeCloseTo(0.8389, 4)
  // Ten copies of each answer tell no more than one.
  const once = shareOf([1, 0, 1, 1])
  expect(shareOf([1, 0, 1, 1].map((x) => mean10(x)))).toEqual(once)
  expect(() => passAt(5, 4, 1)).toThrow(RangeError)
})

test('a task book refuses tasks and levels that do not exist', () => {
  expect(() => createTaskBook(TASKS, [{ name: 'chess' }])).toThrow(/no task "chess"/)
  expect(() => createTaskBook(TASKS, [{ name: 'basic_arithmetic', difficulty: 99 }])).toThrow(
    /difficulties 0 to/,
  )
})

test('a task book finds only the tasks that the config names', () => {
  const book = createTaskBook(TASKS, [{ name: 'basic_arithmetic' }])
  const [asked, other] = [book.chosen[0]!.task, TASKS.find(({ name }) => name !== 'basic_arithmetic')!]
  expect(book.find(asked.name, asked.version)).toBe(asked)
  expect(book.find(asked.name, asked.version + 1)).toBeUndefined()
  expect(book.find(other.name, other.version)).toBeUndefined()
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
