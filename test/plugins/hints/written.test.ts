import { describe, expect, it } from 'vitest'
import { withoutMiddle } from '../../../plugins/hints/prompts.ts'
import { bankOf, progressive, solutionOf } from '../../../plugins/hints/worked.ts'
import { inTags, levelsIn } from '../../../plugins/hints/written.ts'
import type { Step } from '../../../protocol/train/index.ts'

const LEVELS = ['a', 'b', 'c']

describe('hints as models write them', () => {
  it.each([
    ['plain', '{"level_1":"a","level_2":"b","level_3":"c"}'],
    ['fenced', 'Here:\n```json\n{"level_1":"a","level_2":"b","level_3":"c"}\n``` and {more}'],
    ['in words', 'Sure! {"level_1": "a", "level_2": "b", "level_3": "c"} I hope that {helps}.'],
    ['as JavaScript', "{level_1: 'a', level_2: 'b', level_3: 'c',}"],
    ['fenced as JavaScript', "```\n{level_1: 'a', 'level_2': 'b', level_3: 'c',}\n```"],
    ['with a brace too few at first', '{oops {"level_1":"a","level_2":"b","level_3":"c"}'.slice(6)],
  ])('are read from JSON: %s', (_, text) => {
    expect(levelsIn(text, 3)).toEqual(LEVELS)
  })

  it('keep braces and line breaks that are in them', () => {
    expect(levelsIn('{"level_1":"a } b","level_2":"two\nlines"}', 2)).toEqual(['a } b', 'two\nlines'])
  })

  it.each([
    ['nothing', ''],
    ['no JSON', 'first do this'],
    ['a level too few', '{"level_1":"a","level_2":"b"}'],
    ['a field too many', '{"level_1":"a","level_2":"b","level_3":"c","answer":"d"}'],
    ['an empty level', '{"level_1":"a","level_2":"b","level_3":" "}'],
    ['a number', '{"level_1":"a","level_2":"b","level_3":3}'],
    ['braces only', '{{{{}}}}'],
    ['an open brace', '{"level_1":"a"'],
    ['null', 'null'],
  ])('are none in %s', (_, text) => {
    expect(levelsIn(text, 3)).toBeUndefined()
  })

  it('lose control characters, and count as none when they are endless', () => {
    expect(inTags('<hint>a\u001b[2Jb</hint>', 'hint')).toBe('a·[2Jb')
    expect(inTags(`<hint>${'x'.repeat(4001)}</hint>`, 'hint')).toBeUndefined()
    expect(inTags('<hint>open', 'hint')).toBeUndefined()
  })

  it('are none in long texts of nothing but openings', () => {
    for (const text of [
      '{'.repeat(60_000),
      '{"a":'.repeat(12_000),
      "{a:'".repeat(15_000),
      '<hint>'.repeat(10_000),
      '{,'.repeat(30_000),
    ]) {
      expect(levelsIn(text, 3)).toBeUndefined()
      expect(inTags(text, 'hint')).toBeUndefined()
    }
  })
})

describe('text that is too long', () => {
  it('loses its middle', () => {
    const count = (text: string): number => text.length
    expect(withoutMiddle('abcdefghij', 10, count)).toBe('abcdefghij')
    expect(withoutMiddle('abcdefghij', 9, count)).toBe('ab ... ij')
    expect(withoutMiddle('abcdefghij', 8, count)).toBe('ab ... j')
    expect(withoutMiddle('abcdefghij', 0, count)).toBe('')
  })
})

describe('hints from a worked solution', () => {
  const steps: Step[] = [
    { level: 1, text: 'Multiply first.' },
    { level: 2, text: '3 * 4 = 12', value: '12' },
    { level: 3, text: '12 + 5 = 17', value: '17' },
    { level: 4, text: '17 - 1 = 16', value: '16' },
    { level: 5, text: '16 + 100 = 116', value: '116' },
  ]
  const leaks = (text: string): boolean => text.includes('116')

  it('show more from level to level, and never the last line', () => {
    const lines = steps.map(({ text }) => text)
    expect(progressive(steps, 3, leaks)).toEqual([2, 3, 4].map((end) => lines.slice(0, end).join('\n')))
    expect(progressive(steps.slice(0, 1), 3, leaks)).toEqual(['Multiply first.'])
    expect(progressive([], 3, leaks)).toEqual([])
  })

  it('end before the line that gives the answer away', () => {
    expect(progressive(steps, 4, (text) => text.includes('17')).at(-1)).toBe('Multiply first.\n3 * 4 = 12')
  })

  it('make a bank of what to know, what to do, and how it is done', () => {
    expect(bankOf('What is 3 * 4 + 5 - 1 + 100?', steps, leaks)).toEqual({
      knowledge: ['Multiply first.', '3 * 4 = 12'],
      planning: ['3 * 4 = ?', '? + 5 = ?', '? - 1 = ?', '? + 100 = ?'],
      solution: ['3 * 4 = 12', '12 + 5 = 17', '17 - 1 = 16'],
    })
  })

  it('tell who writes hints the whole working, or the answer where there is none', () => {
    expect(solutionOf({ key: '116', steps })).toContain('16 + 100 = 116')
    expect(solutionOf({ key: '116', steps: [] })).toBe('116')
  })
})
