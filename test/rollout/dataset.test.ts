// A dataset from the config to the swarm, in one process with the real model: read, asked, graded, evaluated on what is
// held out, and exchanged with who has the same rows.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../daemon/config/load.ts'
import { loadTasks } from '../../daemon/datasets.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { codecOf } from '../../daemon/policy/codec.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { scorePrompts } from '../../daemon/rollout/evaluate.ts'
import { generateRound } from '../../daemon/rollout/generate.ts'
import { createTaskBook, sampleQuestions, type TaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { Admission } from '../../daemon/swarm/admission.ts'
import { Verifier } from '../../daemon/swarm/admission-verify.ts'
import { Ledger } from '../../daemon/swarm/ledger.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { encodeGroup, peerIdOf, rulesMismatch } from '../../protocol/wire/index.ts'
import { testSigner } from '../protocol/wire/cases.ts'
import { stillClock } from '../swarm/helpers.ts'

let folder: string
const all: string[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-dataset-'))
  all.push(folder)
})
afterAll(() => {
  for (const path of all) rmSync(path, { recursive: true })
})

const put = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const sums = (count: number, from = 0): string =>
  Array.from(
    { length: count },
    (_, i) => `{"prompt": "${i + from} + 2 = ?", "answer": ${i + from + 2}}\n`,
  ).join('')
const config = (toml: string) => {
  const file = put('config.toml', toml)
  return loadConfig({ file, env: {}, cwd: '/elsewhere', homedir: '/home/ada' }).config
}
const MINE = '[[tasks]]\nname = "sums"\ndataset = "sums.jsonl"\nverifier = "numeric"\n'
const book = async (toml = MINE): Promise<TaskBook> => {
  const { tasks } = config(toml)
  return createTaskBook(await loadTasks(tasks), tasks)
}
const failure = async (toml = MINE): Promise<WaggleError> => {
  const error = await loadTasks(config(toml).tasks).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(WaggleError)
  return error as WaggleError
}

describe('with the model', () => {
  let model: Model
  let engine: Engine
  beforeAll(async () => {
    model = await loadModel(fileURLToPath(new URL('../../models/default', import.meta.url)), { disk })
    engine = createOnnxEngine({ threads: 1 })
    await engine.open({ ...model, version: 3 })
  })
  afterAll(() => engine.close())

  const round = (tasks: TaskBook) => {
    const [{ task, difficulty }] = tasks.chosen as [TaskBook['chosen'][number]]
    return generateRound(
      {
        asks: [{ prompt: { task: task.name, taskVersion: task.version, seed: 5, difficulty }, rollouts: 4 }],
        policy: { lineage: model.digest, tokenizer: model.tokenizer.digest, version: 3 },
        maxNewTokens: 24,
        temperature: 1,
        author: 'me',
        sampleSeed: (index) => index,
        now: () => 1000,
      },
      { engine, tokenizer: model.tokenizer, tasks },
    )
  }

  test('its rows are asked and graded, and the held-out ones evaluated, each once', async () => {
    put('sums.jsonl', sums(40))
    const tasks = await book()
    const { task, difficulty } = tasks.chosen[0]!
    const { groups } = await round(tasks)
    const instance = task.generate({ seed: 5, difficulty })
    expect(instance.question).toMatch(/^\d+ \+ 2 = \?$/)
    expect(groups[0]!.conditioning).toEqual(model.tokenizer.encodePrompt(instance.question))
    for (const { text, reward } of groups[0]!.rollouts) {
      expect(text.length).toBeGreaterThan(0)
      expect(reward).toBe(text.includes(`<answer>${instance.key}</answer>`) ? 1 : 0)
    }
    const [scores] = await scorePrompts(
      { promptsPerTask: 100, maxNewTokens: 16 },
      { engine, tokenizer: model.tokenizer, tasks },
    )
    expect(scores!.greedy).toHaveLength(task.finite!.heldOut(difficulty))
    expect(scores!.greedy.length).toBeLessThan(20)
    expect(sampleQuestions([task], [{ name: 'sums' }])).toContain(task.finite!.longest(difficulty))
  })

  test('peers with the same rows take groups of each other, with other rows they refuse them', async () => {
    put('sums.jsonl', sums(40))
    const ours = await book()
    // The same rows in another order, in a folder of two files.
    mkdirSync(join(folder, 'parts'))
    put('parts/b.jsonl', sums(20))
    put('parts/a.jsonl', sums(20, 20))
    const same = await book(MINE.replace('sums.jsonl', 'parts'))
    put('sums.jsonl', sums(41))
    const other = await book()

    const { task, difficulty } = ours.chosen[0]!
    const prompt = { task: 'sums', taskVersion: task.version, seed: 5, difficulty }
    const { key } = task.generate(prompt)
    const author = testSigner(1)
    const codec = codecOf(model.tokenizer, model.spec.vocabulary)
    const receive = (tasks: TaskBook, seed = 5) => {
      const clock = stillClock()
      const admission = new Admission(
        { self: peerIdOf(testSigner(3).publicKey), arms: ['base'] },
        {
          tasks,
          ledger: new Ledger({}, { clock }),
          clock,
          isMuted: () => false,
          isWanted: () => false,
          onImpostor: () => {},
        },
      )
      const rollouts = [key, '1000'].map((answer) => {
        const text = `<answer>${answer}</answer>`
        const tokens = codec.encodeCompletion(text, 'stop')
        return {
          text,
          finish: 'stop' as const,
          tokens,
          behaviourLogprobs: new Float32Array(tokens.length).fill(-0.5),
          segments: [{ version: 3, start: 0, length: tokens.length }],
        }
      })
      const bytes = encodeGroup(
        {
          prompt: { ...prompt, seed },
          arm: 'base',
          policy: { lineage: model.digest, tokenizer: codec.tokenizer, version: 3 },
          rollouts,
          sequence: clock.now(),
          createdAt: clock.now(),
        },
        author,
      )
      const screened = admission.screen(bytes, peerIdOf(author.publicKey))
      if ('refused' in screened) return screened.refused
      if (!('admitted' in screened)) throw new Error('an announcement')
      const verifier = new Verifier({ maxCompletionTokens: 100 }, { tasks, codec, clock, version: () => 0 })
      const verified = verifier.verify(screened.admitted)
      return 'group' in verified ? verified.group.rollouts.map(({ reward }) => reward) : verified.refused
    }
    expect(receive(same)).toEqual([1, 0])
    expect(receive(other)).toBe('task')
    expect(receive(same, HELD_OUT_SEED)).toBe('heldOut')

    const rules = ({ chosen }: TaskBook) => ({
      swarm: 'waggle',
      tasks: chosen.map(({ task: { name, version } }) => ({ name, version })),
    })
    const said = (tasks: TaskBook) => rulesMismatch(rules(ours), { ...rules(tasks), protocol: [1, 0] })
    expect(said(same)).toBeUndefined()
    expect(said(other)).toMatch(/other versions: sums/)
  })
})

describe('files', () => {
  test('pairs of texts make a dataset, too', async () => {
    mkdirSync(join(folder, 'sums.jsonl'))
    for (const n of [1, 2, 3]) {
      put(`sums.jsonl/q${n}.prompt.txt`, `How much is ${n} + 2?\n`)
      put(`sums.jsonl/q${n}.answer.txt`, `${n + 2}\n`)
    }
    const { task } = (await book()).chosen[0]!
    expect(task.generate({ seed: HELD_OUT_SEED, difficulty: 0 }).question).toMatch(/^How much is \d \+ 2\?$/)
    put('sums.jsonl/q4.prompt.txt', 'x')
    expect((await failure()).message).toMatch(/q4\.prompt\.txt {2}q4\.answer\.txt is not there/)
  })

  test('are found from the folder of the config, at any end of line, with a byte order mark', async () => {
    put('sums.jsonl', `\ufeff${sums(8).replaceAll('\n', '\r\n')}\n  \n${sums(1, 8).trim()}`)
    const { task } = (await book()).chosen[0]!
    expect(task.summary).toContain('9 questions')
  })

  test.each([
    ['is missing', () => {}, /sums\.jsonl is not there/],
    ['is empty', () => put('sums.jsonl', '\n'), /no rows/],
    [
      'is not UTF-8',
      () => writeFileSync(join(folder, 'sums.jsonl'), Uint8Array.of(0x7b, 0xff, 10)),
      /sums\.jsonl:1 {2}not UTF-8/,
    ],
    [
      'has a row that is too long',
      () => put('sums.jsonl', `${sums(2)}{"prompt": "${'x'.repeat(70_000)}"`),
      /sums\.jsonl:3 {2}longer than 65536/,
    ],
    ['has an endless row', () => put('sums.jsonl', 'x'.repeat(3_000_000)), /sums\.jsonl:1 {2}longer/],
    ['is too large', () => truncateSync(put('sums.jsonl', ''), 300 << 20), /more than 256 MiB/],
    ['is a folder without any', () => mkdirSync(join(folder, 'sums.jsonl')), /no \*\.jsonl file/],
    [
      'has a link that leads out',
      () => {
        mkdirSync(join(folder, 'sums.jsonl'))
        put('secret', sums(3))
        symlinkSync(join(folder, 'secret'), join(folder, 'sums.jsonl/a.jsonl'))
      },
      /a\.jsonl {2}not a regular file/,
    ],
    ['has control characters', () => put('sums.jsonl', '{"a\u001b[2J": 1}\n'), /^[^\u001b]*$/],
  ])('a dataset that %s is refused with its place', async (_, make, message) => {
    make()
    const error = await failure()
    expect(error.code).toBe('E_DATASET')
    expect(error.message).toMatch(message)
    expect(error.hint).toContain('waggle config check')
  })

  test('a name is used once', async () => {
    put('sums.jsonl', sums(9))
    put('more.jsonl', sums(10))
    const twice = `${MINE}difficulty = 0\n${MINE}`
    expect((await book(twice)).chosen).toHaveLength(2)
    expect(
      (await failure(`${MINE}${MINE.replace('sums.jsonl', 'more.jsonl')}difficulty = 0\n`)).message,
    ).toMatch(/name of another/)
    expect((await failure(MINE.replace('"sums"', '"bf"'))).code).toBe('E_TASK')
    expect((await failure(MINE.replace('numeric', 'numerical'))).message).toMatch(/no verifier "numerical"/)
    expect(() => config('[[tasks]]\nname = "bf"\nverifier = "exact"\n')).toThrow(/goes with a `dataset`/)
  })
})
