// A dataset as a task: its parts, its version, how rows are drawn, and every mistake with its place.

import { describe, expect, it } from 'vitest'
import { datasetTask, gather, readJudge } from '../../../plugins/tasks/dataset/index.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { inTags } from './conformance.ts'
import { HOSTILE } from './hostile.ts'

const read = (lines: readonly string[], verifier: unknown = 'numeric') => {
  const gathering = gather({ defaultJudge: readJudge(verifier) })
  for (const [i, line] of lines.entries()) if (!gathering.line(`d:${i + 1}`, line)) break
  return gathering.result()
}
const task = (lines: readonly string[], verifier: unknown = 'numeric', name = 'mine'): Task => {
  const { rows, problems } = read(lines, verifier)
  expect(problems).toEqual([])
  return datasetTask(name, rows)
}
const sums = (count: number, more: object = {}): string[] =>
  Array.from({ length: count }, (_, i) =>
    JSON.stringify({ prompt: `What is ${i} + ${2 * i}?`, answer: 3 * i, ...more }),
  )
const questions = (of: Task, from: number, count: number, difficulty = of.difficulty.default): Set<string> =>
  new Set(Array.from({ length: count }, (_, i) => of.generate({ seed: from + i, difficulty }).question))

describe('the parts', () => {
  const mine = task(sums(400))

  it('keep one in eight apart, wherever the question stands', () => {
    const held = questions(mine, HELD_OUT_SEED, mine.finite!.heldOut(0))
    expect(held.size).toBe(mine.finite!.heldOut(0))
    expect(held.size / 400).toBeGreaterThan(0.08)
    expect(held.size / 400).toBeLessThan(0.17)
    const trained = questions(mine, 0, 6000)
    expect(trained.size).toBe(400 - held.size)
    expect([...held].filter((question) => trained.has(question))).toEqual([])
    const half = task(sums(200), 'exact', 'other')
    for (const question of questions(half, HELD_OUT_SEED, half.finite!.heldOut(0)))
      expect(held.has(question)).toBe(true)
  })

  it('are never empty, however small the set', () => {
    for (let count = 2; count < 20; count++) {
      const small = task(sums(count))
      const held = questions(small, HELD_OUT_SEED, 100)
      const trained = questions(small, 0, 1000)
      expect(held.size + trained.size).toBe(count)
      expect(held.size).toBeGreaterThan(0)
      expect(trained.size).toBeGreaterThan(0)
    }
    expect(() => datasetTask('mine', [])).toThrow('no rows')
    expect(() => datasetTask('mine', read(sums(1)).rows)).toThrow('not enough')
  })

  it('put questions that differ in white space only on one side, once', () => {
    const { rows, problems, repeated } = read([
      ...sums(3),
      '{"prompt": " What is  1 +\\n2? ", "answer": 3}',
      '{"prompt": "What is 1 + 2?", "answer": 4}',
    ])
    expect({ rows: rows.length, repeated }).toEqual({ rows: 3, repeated: 1 })
    expect(problems).toEqual([{ where: 'd:5', message: expect.stringContaining('the same question as d:2') }])
  })
})

describe('drawing', () => {
  it('gives the same for a seed, from any order of the rows', () => {
    const mine = task(sums(50))
    const other = task(diceFor('order').shuffle(sums(50)))
    for (const seed of [0, 1, 77, HELD_OUT_SEED - 1, HELD_OUT_SEED, 0xffff_ffff])
      expect(other.generate({ seed, difficulty: 0 })).toEqual(mine.generate({ seed, difficulty: 0 }))
    expect(other.version).toBe(mine.version)
    expect(() => mine.generate({ seed: -1, difficulty: 0 })).toThrow(RangeError)
    expect(() => mine.generate({ seed: 0, difficulty: 1 })).toThrow(RangeError)
  })

  it('takes rows up to the level', () => {
    const levelled = sums(90).map((line, i) => JSON.stringify({ ...JSON.parse(line), difficulty: i % 3 }))
    const mine = task(levelled)
    expect(mine.difficulty).toMatchObject({ min: 0, max: 2, default: 2 })
    const counts = [0, 1, 2].map(
      (level) => questions(mine, 0, 2000, level).size + questions(mine, HELD_OUT_SEED, 90, level).size,
    )
    expect(counts).toEqual([30, 60, 90])
    expect(mine.finite!.longest(0).length).toBe('What is 87 + 174?'.length)
  })
})

describe('the version', () => {
  const base = task(sums(20)).version
  it.each([
    ['an answer', () => task(sums(20).with(3, '{"prompt": "What is 3 + 6?", "answer": 8}'))],
    ['a row more', () => task(sums(21))],
    ['a difficulty', () => task(sums(20, { difficulty: 1 }))],
    ['a tolerance', () => task(sums(20), { use: 'numeric', tolerance: 0.5 })],
    ['another verifier', () => task(sums(20), 'exact')],
    ['white space in a question', () => task(sums(20).with(3, '{"prompt": "What is 3 + 6? ", "answer": 9}'))],
  ])('differs by %s', (_, changed) => expect(changed().version).not.toBe(base))

  it('fits the wire, and does not differ by what changes nothing', () => {
    expect(Number.isInteger(base) && base >= 1 && base <= 0xffff_ffff).toBe(true)
    expect(task([...sums(20, { id: 'x' }), ...sums(20)]).version).toBe(base)
    expect(task(sums(20), { use: 'numeric', tolerance: 0 }).version).toBe(base)
  })
})

describe('a verdict', () => {
  const mine = task([
    '{"prompt": "2 + 2", "answer": 4}',
    '{"prompt": "colours", "answer": ["red", "blue"], "verifier": "set"}',
    '{"prompt": "capital", "answer": "B", "verifier": "choice", "choices": ["Rome", "Paris"]}',
    '{"prompt": "a vowel", "answer": "[aeiou]", "verifier": {"use": "regex", "ignore_case": true}, "id": 7}',
  ])
  const all = [...Array(200).keys()].flatMap((i) => [
    mine.generate({ seed: i, difficulty: 0 }),
    mine.generate({ seed: HELD_OUT_SEED + i, difficulty: 0 }),
  ])
  const of = (question: string) => all.find((instance) => instance.question === question)!

  it('reads the answer from the tags, with the verifier of the row', () => {
    expect(mine.verify(of('2 + 2'), `3? no ${inTags('4.0')}`)).toEqual({
      score: 1,
      answer: '4.0',
      found: 'tag',
    })
    expect(mine.verify(of('2 + 2'), '4')).toEqual({ score: 0, answer: '4', found: 'last-line' })
    expect(mine.verify(of('colours'), inTags('blue, red')).score).toBe(1)
    expect(mine.verify(of('capital'), inTags('paris')).score).toBe(1)
    expect(mine.verify(of('capital'), inTags('Rome, Paris')).score).toBe(0)
    expect(mine.verify(of('a vowel'), inTags('E')).score).toBe(1)
    expect(mine.verify(of('a vowel'), inTags('aeiou')).score).toBe(0)
    expect(of('a vowel')).toMatchObject({ key: '[aeiou]', steps: [], data: { id: '7' } })
  })

  it('comes from data that survives JSON, for any text', () => {
    for (const instance of new Set(all))
      for (const text of HOSTILE.slice(0, 40))
        expect(mine.verify(JSON.parse(JSON.stringify(instance)), text)).toEqual(mine.verify(instance, text))
  })
})

it('tells all mistakes of a file at once, the first twenty', () => {
  const { problems } = read([
    '{"prompt": "ok", "answer": 1}',
    '{"prompt": "half',
    '[1]',
    '{"promt": "a", "answer": 1}',
    '{"prompt": "", "answer": 1}',
    '{"prompt": "a"}',
    '{"prompt": "a", "answer": {"x": 1}}',
    '{"prompt": "a", "answer": "one"}',
    '{"prompt": "a", "answer": 1, "difficulty": 1.5}',
    '{"prompt": "a", "answer": 1, "verifier": "nummeric"}',
    '{"prompt": "a", "answer": 1, "choices": ["x", "y"]}',
  ])
  expect(problems.map(({ where, message }) => `${where} ${message}`)).toEqual([
    expect.stringMatching(/^d:2 not JSON/),
    expect.stringMatching(/^d:3 must be an object/),
    expect.stringMatching(/^d:4 there is no key "promt". Did you mean "prompt"\?/),
    expect.stringMatching(/^d:5 "prompt" must be the question/),
    expect.stringMatching(/^d:6 "answer" must be/),
    expect.stringMatching(/^d:7 "answer" must be/),
    expect.stringMatching(/^d:8 "answer" must be a number/),
    expect.stringMatching(/^d:9 "difficulty" must be/),
    expect.stringMatching(/^d:10 there is no verifier "nummeric". Did you mean "numeric"\?/),
    expect.stringMatching(/^d:11 "choices" go with/),
  ])
  expect(read(Array(100).fill('{')).problems).toHaveLength(20)
})

describe('numbers keep the digits of the file', () => {
  const answers = (lines: readonly string[], verifier: unknown = 'numeric') =>
    read(lines, verifier).rows.map(({ answer }) => answer)
  const row = (answer: string, more = ''): string => `{"prompt":"a?","answer":${answer}${more}}`

  it.each(['3.14159265358979323846', '1.50', '1e20', '-0.10', '5E-3'])(
    '%s is the answer as written',
    (text) => {
      expect(answers([row(text)], 'exact')).toEqual([text])
      const mine = task([row(text), '{"prompt":"b?","answer":1}'])
      const asked = [0, HELD_OUT_SEED].map((seed) => mine.generate({ seed, difficulty: 0 }))
      const own = asked.find(({ question }) => question === 'a?')!
      expect(mine.verify(own, inTags(text)).score).toBe(1)
    },
  )

  it('a decimal with other digits beyond those of a double is another answer', () => {
    const mine = task([row('3.14159265358979323846'), '{"prompt":"b?","answer":1}'])
    const asked = [0, HELD_OUT_SEED].map((seed) => mine.generate({ seed, difficulty: 0 }))
    const own = asked.find(({ question }) => question === 'a?')!
    expect(mine.verify(own, inTags('3.141592653589793')).score).toBe(0)
  })

  it.each(['9007199254740993', '-9007199254740993', '123456789012345678901', '[1, 9007199254740993]'])(
    '%s must be quoted, and the advice has its digits',
    (text) => {
      const { problems } = read([row(text)], 'set')
      expect(problems).toHaveLength(1)
      expect(problems[0]!.message).toContain(`in quotes, "${/-?\d{10,}/.exec(text)![0]}"`)
    },
  )

  it('a verifier from a file gets numbers, if JavaScript holds them', () => {
    const verifier = { name: 'own', kind: 'verifier', digest: 'x', score: () => ({ score: 0 }) }
    const own = (text: string) => {
      const gathering = gather({ defaultJudge: { verifier, settings: {} } })
      gathering.line('d:1', row(text))
      const { rows, problems } = gathering.result()
      return rows[0]?.answer ?? problems[0]?.message
    }
    expect([own('1.0'), own('[1e2, 0.1, "x"]'), own('"9007199254740993"')]).toEqual([
      1,
      [100, 0.1, 'x'],
      '9007199254740993',
    ])
    expect(own('9007199254740993')).toContain('"9007199254740993"')
    expect(own('3.14159265358979323846')).toContain('more digits than a number can hold')
    expect(own('1e999')).toContain('more digits')
  })

  it('ids, difficulties and settings may be written in any way', () => {
    const { rows, problems } = read([
      row('1', ',"id":9007199254740993,"difficulty":1.0,"verifier":{"use":"numeric","tolerance":0.50}'),
    ])
    expect(problems).toEqual([])
    expect(rows[0]).toMatchObject({
      id: '9007199254740993',
      difficulty: 1,
      judge: { settings: { tolerance: 0.5 } },
    })
    expect(read([row('1', ',"difficulty":1.50')]).problems[0]!.message).toContain('"difficulty" must be')
  })
})

it('a row that lacks a key is told which it has', () => {
  const { problems } = read(['{"prompt":"a?","id":1}', '{"answer":1}'])
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^"answer" must be .*; the row has only prompt, id$/),
    expect.stringMatching(/^"prompt" must be .*; the row has only answer$/),
  ])
})

describe('questions without answers', () => {
  const lines = Array.from({ length: 20 }, (_, i) => JSON.stringify({ prompt: `What is ${i}?` }))

  it('need the verifier unknown, which finds the answer and scores it 0', () => {
    const riddles = task(lines, 'unknown', 'riddles')
    const instance = riddles.generate({ seed: 1, difficulty: 0 })
    expect(instance.key).toBe('')
    expect(riddles.verify(instance, 'Hm. <answer>12</answer>')).toEqual({
      score: 0,
      answer: '12',
      found: 'tag',
    })
    expect(riddles.verify(instance, '<answer></answer>').score).toBe(0)
  })

  it('are a mistake under any other', () => {
    expect(read(lines).problems[0]!.message).toContain('"answer" must be')
  })
})
