import { expect, test } from 'vitest'
import opsdLike from '../../../plugins/corrections/teachers/opsd-like.ts'
import teachers from '../../../plugins/corrections/teachers/teachers.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import type { BatchView, Hooks, Plugin, ScoreItem, TeacherInfo } from '../../../protocol/plugin/index.ts'
import { createScriptedContext, type ScriptedOptions } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'
import { valuesOf } from './rows.ts'

const VIEW: BatchView = { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0, self: 'self' }
const [task, other] = TASKS.filter(({ environment }) => !environment)

const promptOf = (seed: number, of = task!) => ({
  task: of.name,
  taskVersion: of.version,
  seed,
  difficulty: 0,
})
const keyOf = (seed: number): string => task!.generate({ seed, difficulty: 0 }).key
const QUESTIONS = Array.from({ length: 200 }, (_, seed) => task!.generate({ seed, difficulty: 0 }).question)
const answer = (key: string): string => `<answer>${key}</answer>`

/** A group of wrong answers of this node. */
const wrong = (seed: number, more: Partial<Group> = {}): Group =>
  groupOf([rolloutOf(0, 3), rolloutOf(0, 2)], { id: `${seed}`, prompt: promptOf(seed), ...more })

/** A context in which the teacher knows all answers, and the policy writes none. */
function knowing(names: readonly string[], more: ScriptedOptions = {}) {
  const seen: string[] = []
  const context = createScriptedContext({
    tasks: TASKS,
    teachers: names.map((name): TeacherInfo => ({ name, version: 1, claims: [] })),
    write(prompt, { role }) {
      const seed = QUESTIONS.findIndex((question) => prompt.includes(question))
      seen.push(role)
      const knows = names.includes(role) || prompt.includes('A right answer')
      return seed >= 0 && knows ? answer(keyOf(seed)) : 'no idea'
    },
    logprobs({ role, completion }) {
      seen.push(`score ${role}`)
      return Array.from(completion, () => -2)
    },
    ...more,
  })
  return { context, seen }
}

/** Plays so many rounds of wrong answers, and returns the last one's teaching and weights. */
async function rounds(
  hooks: Hooks,
  count: number,
  { context }: ReturnType<typeof knowing>,
  groupsOf = (i: number) => [wrong(i)],
) {
  let groups: Group[] = []
  for (let i = 0; i < count; i++) {
    groups = await hooks.group!(groupsOf(i), { ...VIEW, at: 'round' }, context)
    await hooks.observe!(groups, context)
    groups = await hooks.group!(groups, { ...VIEW, at: 'batch' }, context)
    await hooks.teach!(groups, context)
  }
  const teaching = await hooks.teach!(groups, context)
  const { weight } = await hooks.columns!([], groups, context)
  return { groups, teaching, weight: weight as number[][] }
}

const create = (plugin: Plugin, given = {}): Hooks => withSettings(plugin, { trials: 8, ...given })

test('a teacher that verifiers find better scores all own answers, also those without a signal', async () => {
  const hooks = create(teachers)
  const world = knowing(['peer/a'])
  const { groups, teaching, weight } = await rounds(hooks, 24, world)
  expect(groups[0]!.always).toBe(true)
  expect(teaching[0]!.map((top) => top!.tokens.length)).toEqual([3, 2])
  expect(weight).toEqual([[1, 1]])
  // Two answers of three and two tokens in each batch since it was first listened to.
  const [taught, ...others] = hooks.taught!()
  expect(taught).toMatchObject({
    task: task!.name,
    teacher: 'peer/a',
    weight: 1,
    scores: { theirs: 1, own: 0 },
  })
  expect(taught!.tokens).toBeGreaterThan(5)
  expect(taught!.tokens % 5).toBe(0)
  expect(others).toEqual([])
})

test('nobody teaches before there is evidence, nor whose answers are no better', async () => {
  const early = await rounds(create(teachers), 1, knowing(['peer/a']))
  expect(early.weight).toEqual([[0, 0]])
  expect(early.groups[0]!.always).toBeUndefined()
  const world = knowing(['peer/a'], { write: () => 'no idea' })
  const { teaching, weight } = await rounds(create(teachers), 24, world)
  expect(teaching).toEqual([[undefined, undefined]])
  expect(weight).toEqual([[0, 0]])
})

test('rounds without a signal make batches while a teacher is on trial, and not once it is known to be no better', async () => {
  const alwaysOf = async (count: number, write: () => string) => {
    const { groups } = await rounds(create(teachers), count, knowing(['peer/a'], { write }))
    return groups[0]!.always ?? false
  }
  expect(await alwaysOf(2, () => 'no idea')).toBe(true)
  expect(await alwaysOf(64, () => 'no idea')).toBe(false)
  const hooks = create(teachers, { from: ['example'] })
  // It has nothing to be shown.
  expect((await rounds(hooks, 2, knowing([]))).groups[0]!.always).toBeUndefined()
})

test('a teacher without room for an answer is given up, and it is said', async () => {
  const hooks = create(teachers)
  const world = knowing(['peer/a'], { write: () => '' })
  expect((await rounds(hooks, 64, world)).groups[0]!.always).toBeUndefined()
  expect(world.context.lines[0]).toMatch(/peer\/a has no room for an answer/)
})

test("peers' groups, borrowed answers and taught texts are not taught", async () => {
  const hooks = create(teachers)
  const world = knowing(['peer/a'])
  await rounds(hooks, 24, world)
  const groups = [
    wrong(1, { author: 'peer' }),
    groupOf([rolloutOf(0, 2, { author: 'peer' }), rolloutOf(0, 2, { taught: true }), rolloutOf(0, 2)], {
      prompt: promptOf(2),
    }),
  ]
  const teaching = await hooks.teach!(groups, world.context)
  expect(teaching.map((row) => row.map((top) => top !== undefined))).toEqual([
    [false, false],
    [false, false, true],
  ])
})

test('a task without a teacher is not taught while another is', async () => {
  const world = knowing(['peer/a'])
  const both = (i: number) => [
    wrong(i),
    groupOf([rolloutOf(1, 2), rolloutOf(0, 2)], { prompt: promptOf(i, other!) }),
  ]
  const { weight } = await rounds(create(teachers), 48, world, both)
  expect(weight).toEqual([
    [1, 1],
    [0, 0],
  ])
})

test('an own right answer is the example for the others of its group', async () => {
  const hooks = create(teachers, { from: ['example'] })
  const prompts: string[] = []
  const world = knowing([], {
    logprobs({ role, conditioning, completion }) {
      prompts.push(`${role}: ${conditioning}`)
      return Array.from(completion, () => -1)
    },
  })
  const mixed = (i: number) => [
    groupOf(
      [
        rolloutOf(1, 2, { text: answer(keyOf(i)) }),
        rolloutOf(0, 2, { text: answer('77777') }),
        ...[0, 0, 0, 0, 0, 0],
      ],
      {
        prompt: promptOf(i),
      },
    ),
  ]
  const { teaching } = await rounds(hooks, 24, world, mixed)
  // The only right answer has no other one to look at.
  expect(teaching[0]!.map((top) => top !== undefined)).toEqual([false, ...Array(7).fill(true)])
  expect(prompts.every((prompt) => prompt.startsWith('policy: '))).toBe(true)
  expect(prompts.some((prompt) => prompt.includes('answered 77777, which is wrong'))).toBe(true)
})

test('opsd_like shows the worked solution, and asks nobody else', async () => {
  const hooks = create(opsdLike)
  const world = knowing([], { privileged: true })
  const { teaching } = await rounds(hooks, 24, world)
  expect(teaching[0]!.every((top) => top !== undefined)).toBe(true)
  expect(new Set(world.seen)).toEqual(new Set(['policy', 'score policy']))
})

test('the loss at a token is at most the limit, and nothing without a weight', () => {
  const { penalty } = create(teachers, { clip: 2, coefficient: 0.5 }).correct!()
  const given = { divergence: [0.5, 8, 8], 'teachers.weight': [1, 0.5, 0] }
  expect(valuesOf(penalty, given)).toEqual([0.25, 0.5, 0])
})

test('another model is asked by its name, with the question; chunks are weighed like divergences', async () => {
  const hooks = create(teachers, { from: ['models/big.gguf'] })
  const world = knowing(['models/big.gguf'])
  const asked: ScoreItem[] = []
  world.context.score = async (items) => {
    asked.push(...items)
    return items.map(({ completion }) => {
      const none = new Float32Array(completion.length)
      const chunks = { ends: Int32Array.of(1), logprobs: Float32Array.of(-3) }
      return { logprobs: none, entropies: none, collisions: none, chunks }
    })
  }
  const sampled = (i: number) => [
    groupOf([rolloutOf(0, 2, { behaviourLogprobs: Float32Array.of(-1, -2) })], { prompt: promptOf(i) }),
  ]
  const { groups, teaching, weight } = await rounds(hooks, 24, world, sampled)
  expect(asked.at(-1)!.prompt).toEqual(groups[0]!.prompt)
  expect([teaching, weight]).toEqual([[[undefined]], [[0]]])
  const { chunked, theirs } = await hooks.columns!([], groups, world.context)
  // The only token that counts is its own baseline: -3 + 2.
  expect([chunked, theirs]).toEqual([[[Float32Array.of(1, 0)]], [[Float32Array.of(-1, 2)]]])
  expect(world.context.metrics).toMatchObject({ chunked: 0.5, gap: 2 })
})

test('only names of other models are loaded as models', () => {
  const from = ['peers', 'begin', 'example', 'checkpoint/a', 'http://localhost:8000/v1', 'a/b', './c.gguf']
  const settings = { from } as Parameters<NonNullable<NonNullable<typeof teachers.manifest>['teachers']>>[0]
  expect(teachers.manifest!.teachers!(settings)).toEqual(['a/b', './c.gguf'])
})

test('what the gate has learnt survives a restart', async () => {
  const hooks = create(teachers)
  await rounds(hooks, 24, knowing(['peer/a']))
  const again = create(teachers)
  await again.load!((await hooks.save!()) as Uint8Array)
  // Tokens are counted since the start of the process.
  expect(again.taught!()).toEqual(hooks.taught!().map((one) => ({ ...one, tokens: 0 })))
})
