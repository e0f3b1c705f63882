import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentId } from '../../../protocol/wire/index.ts'
import { anyText } from './arbitrary.ts'

const prompt = { task: 'a', taskVersion: 1, seed: 2, difficulty: 3 }

test('look-alike copies have the same content id', () => {
  const id = contentId(prompt, ['caf\u00e9 is 4', 'no'])
  for (const copy of [
    ['cafe\u0301 is 4', 'no'],
    ['  caf\u00e9\u00a0is\t\n4 ', 'no\u200b'],
    ['caf\u00e9 is \u{ff14}', '\u202eno'],
    ['no', 'caf\u00e9 is 4\ufe0f'],
  ])
    expect(contentId(prompt, copy)).toBe(id)
})

test('other texts, prompts and splits have other content ids', () => {
  const ids = [
    contentId(prompt, ['a', 'b']),
    contentId(prompt, ['a', 'c']),
    contentId(prompt, ['a b']),
    contentId(prompt, ['a', 'b', 'b']),
    contentId({ ...prompt, seed: 3 }, ['a', 'b']),
    contentId({ ...prompt, task: 'b' }, ['a', 'b']),
    contentId({ ...prompt, taskVersion: 2 }, ['a', 'b']),
    contentId({ ...prompt, difficulty: 4 }, ['a', 'b']),
  ]
  expect(new Set(ids).size).toBe(ids.length)
})

test('the order of rollouts does not matter', () => {
  fc.assert(
    fc.property(fc.array(anyText, { minLength: 2, maxLength: 5 }), (texts) => {
      expect(contentId(prompt, texts.toReversed())).toBe(contentId(prompt, texts))
    }),
  )
})

test('a text of nothing but combining marks is read as fast as any other', () => {
  const cost = (text: string) => {
    const { user } = process.cpuUsage()
    contentId(prompt, [text, 'no'])
    return (process.cpuUsage().user - user) / 1000
  }
  cost('warm \u0315')
  // A second each where putting n marks in order takes n² steps.
  for (const marks of ['\u0315\u0300', '\uff9e\u0315\u0300', '\u0f71\u0f72'])
    expect(cost(`a${marks.repeat(30_000 / marks.length)}`)).toBeLessThan(150)
})
