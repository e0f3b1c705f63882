// Questions that leave little or no room for an answer in the model's context.

import { expect, test } from 'vitest'
import { scorePart, scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { runRolloutLoop } from '../../daemon/rollout/loop.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { NO_PHASES } from '../../protocol/api/index.ts'
import { defineTask, type Request } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { characterTokenizer } from './characters.ts'
import { type Playing, type PlayOptions, play, plugin } from './play.ts'
import { createScriptedEngine } from './scripted-engine.ts'

const CONTEXT = 100
const maxNewTokens = 20
/** Of the questions of three seeds in a row: an answer fits, fits in part, and does not fit. */
const CHARACTERS = [10, 90, 200]
/** Seeds of questions. */
const [FITS, TOO_LONG] = [0, 2]

/** Any answer is right that is not empty. */
const task = defineTask({
  ...{ name: 'lengths', kind: 'task', api: 1, summary: 'Questions of three lengths.', version: 1 },
  difficulty: { min: 0, max: 0, default: 0, describe: () => 'all' },
  generate: ({ seed }) => ({
    question: 'q'.repeat(CHARACTERS[(seed % HELD_OUT_SEED) % 3]!),
    ...{ key: 'a', steps: [], data: {} },
  }),
  verify: (_, text) => ({ score: text === '' ? 0 : 1, answer: text, found: 'last-line' }),
})
const tasks = createTaskBook([task], [{ name: task.name }])
const tokenizer = characterTokenizer()
const write = () => 'a'.repeat(50)
const promptOf = (seed: number) => ({ task: task.name, taskVersion: task.version, seed, difficulty: 0 })

const HELD_OUT = { promptsPerTask: 3, maxNewTokens, context: CONTEXT }

/** Rounds that ask questions of these seeds. */
const playing = (seeds: readonly number[], more: Partial<PlayOptions> = {}): Promise<Playing> => {
  const select = (view: { rollouts: number }) =>
    seeds.map((seed) => ({ prompt: promptOf(seed), rollouts: view.rollouts }))
  return play({
    ...{ write, tasks: [task], chosen: [{ name: task.name }], context: CONTEXT, maxNewTokens },
    want: seeds.length,
    groupSize: 2,
    host: { selector: { use: 'seeds' } },
    ...more,
    plugins: [plugin('seeds', 'selector', { select }, { claims: ['picker'] }), ...(more.plugins ?? [])],
  })
}

test('an answer of an evaluation ends where the context of the model ends', async () => {
  const sampler = createScriptedEngine({ tokenizer, write })
  await scorePrompts(HELD_OUT, { sampler, tokenizer, tasks })
  const ends = sampler.requests.flatMap(({ samples, maxNewTokens: most }) =>
    samples.map(({ prompt, maxNewTokens: room = most }) => prompt.length + room),
  )
  expect(Math.max(...ends)).toBe(CONTEXT)
})

test('a question that leaves no room for an answer counts as wrong in an evaluation', async () => {
  const sampler = createScriptedEngine({ tokenizer, write })
  const [scores] = await scorePrompts({ ...HELD_OUT, samples: 2 }, { sampler, tokenizer, tasks })
  expect(scores).toMatchObject({
    greedy: [1, 1, 0],
    sampled: [
      [1, 1],
      [1, 1],
      [0, 0],
    ],
  })
})

test('a question that leaves no room for an answer counts as wrong where weights are tried', async () => {
  const sampler = createScriptedEngine({ tokenizer, write })
  const rewards = await scorePart({ ...HELD_OUT, index: 0, of: 1 }, { sampler, tokenizer, tasks })
  expect(rewards.map(({ rewards: of }) => of)).toEqual([[1], [1], [0]])
})

test('an evaluation of nothing but such questions asks no sampler', async () => {
  const sampler = createScriptedEngine({ tokenizer, write })
  const [scores] = await scorePrompts({ ...HELD_OUT, context: 8 }, { sampler, tokenizer, tasks })
  expect(scores!.greedy).toEqual([0, 0, 0])
  expect(sampler.requests).toEqual([])
})

test('a prompt that leaves no room for an answer is left out of a round, and the others are answered', async () => {
  const { round } = await playing([FITS, TOO_LONG])
  const { groups } = await round()
  expect(groups.map(({ prompt }) => prompt.seed)).toEqual([FITS])
})

test('a round of nothing but such prompts fails', async () => {
  const { round } = await playing([TOO_LONG])
  await expect(round()).rejects.toThrow(
    /none of the round's questions leaves room for an answer .* 100 tokens/,
  )
})

test("a plugin's request that leaves no room for an answer gives no group", async () => {
  const extend = ({ asked }: { asked: number }): Request[] =>
    asked === 0 ? [{ id: 'a', prompt: promptOf(TOO_LONG), rollouts: 2, keep: 'train' }] : []
  const helper = plugin('helper', 'hint', { extend }, { budget: () => ({ tokens: 10_000 }) })
  const { round, engine } = await playing([FITS], {
    plugins: [helper],
    host: { selector: { use: 'seeds' }, hints: [{ use: 'helper' }] },
  })
  expect((await round()).groups.map(({ prompt }) => prompt.seed)).toEqual([FITS])
  expect(engine.requests).toHaveLength(1)
})

test('it is told once that rounds leave prompts out', async () => {
  const { engine, host, parked } = await playing([FITS, TOO_LONG])
  const told: number[] = []
  const ending = new AbortController()
  let rounds = 0
  const policy = {
    ...{ sampler: engine, model: { tokenizer, spec: { contextLength: CONTEXT, vocabulary: 200 } } },
    reference: () => ({ lineage: 'a', tokenizer: tokenizer.digest, version: 0 }),
  }
  await runRolloutLoop(
    {
      settings: () => ({ groupsPerRound: 2, maxStaleness: 8, room: { most: 4, round: 1 } }),
      ...{ groupSize: 2, temperature: 1, maxNewTokens, author: 'me' },
    },
    {
      ...{ policy: policy as never, plugins: host, parked, tasks, phases: NO_PHASES, changed: createWaker() },
      ...{ waiting: () => 0, mustWait: () => false, isThrownAway: () => false },
      ...{ roundRandom: () => () => 0.5, now: () => 0, monotonic: () => 0, sleep: async () => {} },
      onGroup() {},
      onRound() {
        rounds += 1
        if (rounds === 3) ending.abort()
      },
      onLeftOut: (_, tokens) => told.push(tokens),
      onError(error) {
        throw error
      },
    },
    ending.signal,
  )
  expect(told).toEqual([202])
})
