// A dataset from the config to the swarm, in one process with the real model: read, asked, graded, evaluated on what is
// held out, and exchanged with who has the same rows.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../daemon/config/load.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook, sampleQuestions, type TaskBook } from '../../daemon/rollout/tasks.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { Admission } from '../../daemon/swarm/admission/admission.ts'
import { Verifier } from '../../daemon/swarm/admission/verify.ts'
import { PeerRecords } from '../../daemon/swarm/peers/records.ts'
import { loadTasks } from '../../daemon/wiring/datasets.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'
import { encodeGroup, peerIdOf, rulesMismatch } from '../../protocol/wire/index.ts'
import { writeGroups } from '../../scripts/lab/nodes/write-groups.ts'
import { testSigner } from '../protocol/wire/cases.ts'
import { stillClock } from '../swarm/groups.ts'

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
    return writeGroups(
      {
        asks: [{ prompt: { task: task.name, taskVersion: task.version, seed: 5, difficulty }, rollouts: 4 }],
        policy: { lineage: model.digest, tokenizer: model.tokenizer.digest, version: 3 },
        maxNewTokens: 24,
        temperature: 1,
        author: 'me',
        sampleSeed: (index) => index,
        now: () => 1000,
      },
      { sampler: engine, tokenizer: model.tokenizer, tasks },
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
      { sampler: engine, tokenizer: model.tokenizer, tasks },
    )
    expect(scores!.greedy).toHaveLength(task.finite!.heldOut(difficulty))
    expect(scores!.greedy.length).toBeLessThan(20)
    const samples = sampleQuestions([task], [{ name: 'sums' }])
    expect(samples.map(({ question }) => question)).toContain(task.finite!.longest(difficulty))
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

    const receive = (tasks: TaskBook, seed = 5) => received(ours, tasks, seed)
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

  test('peers with the same verifier file score groups of each other, with another file they refuse them', async () => {
    put('sums.jsonl', sums(40))
    const half = 'export default { name: "half", kind: "verifier", api: 1, summary: "", score: SCORE }'
    const withFile = (name: string, score: string) => {
      put(name, half.replace('SCORE', score))
      return book(MINE.replace('"numeric"', `"./${name}"`))
    }
    const score = '({ text, answer }) => (text === String(answer) ? 1 : 0.25)'
    const ours = await withFile('ours.mjs', score)
    const same = await withFile('copy.mjs', score)
    const other = await withFile('other.mjs', score.replace('0.25', '0.5'))
    expect(received(ours, same, 5)).toEqual([1, 0.25])
    expect(received(ours, other, 5)).toBe('task')
    expect(received(ours, await book(), 5)).toBe('task')
  })

  /** Rewards of a group by a node with the tasks `ours`, as one with `tasks` scores it; or why it refuses it. */
  function received(ours: TaskBook, tasks: TaskBook, seed: number) {
    const { task, difficulty } = ours.chosen[0]!
    const prompt = { task: 'sums', taskVersion: task.version, seed: 5, difficulty }
    const { key } = task.generate(prompt)
    const author = testSigner(1)
    const codec = codecOf(model.tokenizer, model.spec.vocabulary)
    const clock = stillClock()
    const admission = new Admission(
      { self: peerIdOf(testSigner(3).publicKey), arms: ['base'] },
      {
        tasks,
        records: new PeerRecords({}, { clock }),
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
})

describe('tables and other names', () => {
  const questions = (of: TaskBook, count = 200): Map<string, string> => {
    const { task, difficulty } = of.chosen[0]!
    return new Map(
      [...Array(count).keys()]
        .flatMap((seed) => [seed, HELD_OUT_SEED + seed])
        .map((seed) => task.generate({ seed, difficulty }))
        .map(({ question, key }) => [question, key]),
    )
  }
  const CSV = MINE.replace('.jsonl', '.csv')
  const mapped = (fields: string, file = 'sums.jsonl') =>
    `${MINE.replace('sums.jsonl', file)}fields = { ${fields} }\n`

  test('a CSV file has rows with quotes, commas and line breaks in cells, and is the same dataset as JSON lines', async () => {
    put(
      'sums.csv',
      '\ufeffprompt,answer,difficulty\r\n"What is 1,000 + 2?",1002,1\r\n"Say ""3"".\nThen 3 + 1?",4,0\r\n\r\n5" + 5?,10,\r\n',
    )
    const ours = await book(CSV)
    expect(questions(ours)).toEqual(
      new Map([
        ['What is 1,000 + 2?', '1002'],
        ['Say "3".\nThen 3 + 1?', '4'],
        ['5" + 5?', '10'],
      ]),
    )
    put(
      'sums.jsonl',
      '{"prompt":"5\\" + 5?","answer":"10"}\n{"prompt":"What is 1,000 + 2?","answer":"1002","difficulty":1}\n{"prompt":"Say \\"3\\".\\nThen 3 + 1?","answer":"4"}\n',
    )
    expect((await book()).chosen[0]!.task.version).toBe(ours.chosen[0]!.task.version)
    // Other columns, mapped to the same rows, are the same dataset; mapped to others, another one.
    put(
      'other.csv',
      'q;a;hard;n\nWhat is 1,000 + 2?;1002;1;7\n"Say ""3"".\nThen 3 + 1?";4;0;8\n5" + 5?;10;;9\n',
    )
    const version = async (fields: string) =>
      (await book(mapped(fields, 'other.csv'))).chosen[0]!.task.version
    expect(await version('prompt = "q", answer = "a", difficulty = "hard"')).toBe(
      ours.chosen[0]!.task.version,
    )
    expect(await version('prompt = "q", answer = "n", difficulty = "hard"')).not.toBe(
      ours.chosen[0]!.task.version,
    )
  })

  test('lists of choices and verifiers stand in cells as JSON, tabs part cells in .tsv', async () => {
    put(
      'sums.tsv',
      'prompt\tanswer\tverifier\tchoices\nCapital?\tParis\tchoice\t["Rome", "Paris"]\nPi?\t3.14\t{"use": "numeric", "tolerance": 0.01}\t\n',
    )
    const tasks = await book(MINE.replace('.jsonl', '.tsv'))
    expect(questions(tasks)).toEqual(
      new Map([
        ['Capital?', 'B'],
        ['Pi?', '3.14'],
      ]),
    )
  })

  test('fields may be nested, chats, or end with the answer after a mark', async () => {
    const rows = [1, 2, 3].map((n) => ({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: `${n} + 2 = ?` },
        { role: 'assistant', content: `It is ${n} and 2.\n#### ${n + 2}` },
      ],
      reward_model: { ground_truth: n + 2 },
      source: 'somewhere',
    }))
    put('sums.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    const wanted = new Map([1, 2, 3].map((n) => [`Be brief.\n\n${n} + 2 = ?`, `${n + 2}`]))
    const chat = await book(mapped('prompt = "messages", answer = "messages", answer_after = "####"'))
    expect(questions(chat)).toEqual(wanted)
    const nested = await book(mapped('prompt = "messages", answer = "reward_model.ground_truth"'))
    expect(questions(nested)).toEqual(wanted)
  })

  test.each([
    [
      'a column that is missing',
      'question,answr\n1 + 2,3\n',
      'prompt = "question"',
      /sums\.csv:1 {2}there is no field "answer"\. Did you mean "answr"\? There are question, answr\. `fields` in the config says which/,
    ],
    [
      'columns of other names without a mapping',
      'question,answer\n1 + 2,3\n',
      undefined,
      /sums\.csv:1 {2}there is no column "prompt"\. There are question, answer\. .*fields = \{ prompt = "question"/,
    ],
    [
      'a column too many without a mapping',
      'prompt,answer,source\n1 + 2,3,x\n',
      undefined,
      /sums\.csv:1 {2}column "source" is not known/,
    ],
    [
      'two columns of one name',
      'prompt,answer,answer\n1,2,3\n',
      undefined,
      /sums\.csv:1 {2}two columns have the name "answer"/,
    ],
    [
      'a bad value, by the name of its column and its line',
      'q,a\n"1 +\n2",3\n3 + 4,seven\n',
      'prompt = "q", answer = "a"',
      /sums\.csv:4 {2}"a" \(the answer\) must be a number/,
    ],
    [
      'an empty question',
      'q,a\n1,1\n,3\n',
      'prompt = "q", answer = "a"',
      /sums\.csv:3 {2}"q" \(the prompt\) must be the question/,
    ],
    [
      'a row with too many cells',
      'prompt,answer\n1 + 1,2\n1 + 2, 3, 4\n',
      undefined,
      /sums\.csv:3 {2}has 3 cells, but the header has 2/,
    ],
    [
      'a quote that is never closed',
      'prompt,answer\n1 + 1,2\n"1 + 2,3\n',
      undefined,
      /sums\.csv:3 {2}this quote is never closed/,
    ],
    [
      'a quote that is never closed in a large file',
      `prompt,answer\n"${'1,2\n'.repeat(500_000)}`,
      undefined,
      /sums\.csv:2 {2}a row longer than 65536/,
    ],
    ['no rows', 'prompt,answer\n', undefined, /no rows/],
    [
      'choices that are not JSON',
      'prompt,answer,choices\n1,A,[a\n',
      undefined,
      /sums\.csv:2 {2}"choices" begins like JSON/,
    ],
    [
      'a verifier that is a file',
      'prompt,answer,verifier\n1,A,./evil.mjs\n',
      undefined,
      /sums\.csv:2 {2}"\.\/evil\.mjs" is no verifier.s name.*a row cannot name a file/,
    ],
    [
      'a column of the prototype',
      'q,answer\n1,2\n',
      'prompt = "constructor"',
      /there is no field "constructor"/,
    ],
    ['control characters', 'q\u001b[2J,answer\n1,2\n', undefined, /^[^\u001b]*$/],
  ])('a table with %s is refused with its place', async (_, text, fields, message) => {
    put('sums.csv', text)
    expect((await failure(fields === undefined ? CSV : mapped(fields, 'sums.csv'))).message).toMatch(message)
  })

  test.each([
    ['Latin-1; save it as UTF-8', Buffer.from('prompt,answer\ncaf\xe9,1\n', 'latin1'), 2],
    ['UTF-16; save it as UTF-8', Buffer.from('\ufeffprompt,answer\n1,1\n', 'utf16le'), 1],
    ['a spreadsheet or an archive; save it as text', Buffer.from('PK\u0003\u0004\xff', 'latin1'), 1],
  ])(
    'a table that is not UTF-8 is refused with its line and what it seems to be: %s',
    async (what, bytes, line) => {
      writeFileSync(join(folder, 'sums.csv'), bytes)
      expect((await failure(CSV)).message).toContain(`sums.csv:${line}  not UTF-8: it seems to be ${what}`)
    },
  )

  test('the first line that is not UTF-8 is found beyond a chunk, which may part a letter', async () => {
    const rows = `prompt,answer\n${'ä,1\n'.repeat(400_000)}`
    writeFileSync(join(folder, 'sums.csv'), Buffer.concat([Buffer.from(rows), Buffer.of(0xe4, 10)]))
    expect((await failure(CSV)).message).toMatch(/sums\.csv:400002 {2}not UTF-8/)
  })

  test('a table in a folder that is not UTF-8 is named, and those after it are read', async () => {
    mkdirSync(join(folder, 'sums.csv'))
    writeFileSync(join(folder, 'sums.csv/a.csv'), Buffer.from('prompt,answer\ncaf\xe9,1\n', 'latin1'))
    put('sums.csv/b.CSV', 'prompt,answer\n1,one\n')
    expect((await failure(CSV)).message).toMatch(
      / a\.csv:2 {2}not UTF-8[^\n]*\n {2}b\.CSV:2 {2}"answer" must be/,
    )
  })

  test('a table may end in .CSV, as old programs write it', async () => {
    put('SUMS.CSV', 'prompt,answer\n1 + 1,2\n1 + 2, 3\n')
    expect(questions(await book(MINE.replace('sums.jsonl', 'SUMS.CSV')))).toEqual(
      new Map([
        ['1 + 1', '2'],
        ['1 + 2', '3'],
      ]),
    )
  })

  test('columns that do not count need no names of their own, as where a spreadsheet leaves empty ones', async () => {
    put('sums.csv', 'q,answer,,\n1 + 1,2,,\n1 + 2,3,,\n')
    expect(questions(await book(mapped('prompt = "q"', 'sums.csv'))).size).toBe(2)
  })

  test('a table with twenty wrong rows is refused after these', async () => {
    put('sums.csv', `prompt,answer\n${'x,y\n'.repeat(200_000)}`)
    expect((await failure(CSV)).message).toMatch(/20 problems[\s\S]*possibly more/)
  })

  test.each([
    [{ role: 'user' }, /"messages" \(the prompt\) is a chat with a message that lacks "role" or "content"/],
    [{ role: 'tool', content: 'x' }, /is a chat of tool; it must have one user message/],
  ])('a chat with %j is refused', async (message, told) => {
    put('sums.jsonl', `${JSON.stringify({ messages: [message], answer: 1 })}\n`)
    expect((await failure(mapped('prompt = "messages"'))).message).toMatch(told)
  })

  test('a mark that is not there, and fields of other tasks, are refused', async () => {
    put('sums.jsonl', '{"question": "1 + 2", "answer": "3"}\n')
    expect((await failure(mapped('prompt = "question", answer_after = "####"'))).message).toMatch(
      /sums\.jsonl:1 {2}"answer" does not have the mark "####"/,
    )
    expect(() => config('[[tasks]]\nname = "bf"\nfields = { prompt = "q" }\n')).toThrow(
      /is only for a `dataset`/,
    )
    expect(() => config(mapped('promt = "q"'))).toThrow(/there is no such key\. Did you mean "prompt"\?/)
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
    expect((await failure()).message).toMatch(/q4\.prompt\.txt {2}q4\.answer\.txt does not exist/)
  })

  test('are found from the folder of the config, at any end of line, with a byte order mark', async () => {
    put('sums.jsonl', `\ufeff${sums(8).replaceAll('\n', '\r\n')}\n  \n${sums(1, 8).trim()}`)
    const { task } = (await book()).chosen[0]!
    expect(task.summary).toContain('9 questions')
  })

  test.each([
    ['is missing', () => {}, /sums\.jsonl does not exist/],
    ['is empty', () => put('sums.jsonl', '\n'), /no rows/],
    [
      'is a list',
      () => put('sums.jsonl', `[\n${sums(3).replaceAll('}', '},')}]`),
      /has a problem\n {2}sums\.jsonl:1 {2}must be an object.*no list around them/,
    ],
    [
      'is not UTF-8',
      () => writeFileSync(join(folder, 'sums.jsonl'), Buffer.from('{\xff\n{\xff\n', 'latin1')),
      /has a problem\n {2}sums\.jsonl:1 {2}not UTF-8: it seems to be Latin-1/,
    ],
    [
      'has a row that is too long',
      () => put('sums.jsonl', `${sums(2)}{"prompt": "${'x'.repeat(70_000)}"`),
      /sums\.jsonl:3 {2}longer than 65536/,
    ],
    ['has an endless row', () => put('sums.jsonl', 'x'.repeat(3_000_000)), /sums\.jsonl:1 {2}longer/],
    ['is too large', () => truncateSync(put('sums.jsonl', ''), 300 << 20), /more than 256 MiB/],
    [
      'is a folder without any',
      () => mkdirSync(join(folder, 'sums.jsonl')),
      /neither \*\.jsonl, \*\.csv, \*\.tsv or \*\.parquet files/,
    ],
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
    ).toMatch(/same name as another/)
    expect((await failure(MINE.replace('"sums"', '"bf"'))).code).toBe('E_TASK')
    expect((await failure(MINE.replace('numeric', 'numerical'))).message).toMatch(/no verifier "numerical"/)
    expect(() => config('[[tasks]]\nname = "bf"\nverifier = "exact"\n')).toThrow(/is only for a `dataset`/)
  })
})
