import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, taskConformance } from './conformance.ts'
import { evaluateText } from './expressions.ts'

const numbers = (question: string): string[] => question.match(/-?\d+/g) ?? []

taskConformance(task, {
  solve: (question) => String(evaluateText(question.replace('Work out ', ''))),
  baselines: {
    'the question': (question) => question,
    'the expression': (question) => question.replace('Work out ', ''),
    'the first number': (question) => numbers(question)[0]!,
    'the last number': (question) => numbers(question).at(-1)!,
    'every digit': () => '1 2 3 4 5 6 7 8 9',
    zero: () => '0',
  },
  // With sums and differences of two digits the commonest keys have a share of 8 or 9 in 162.
  luck: { 0: 0.08 },
})

const keyed = (key: string): Instance => ({ question: 'Work out', key, steps: [] })

describe('basic_arithmetic', () => {
  it.each([
    ['28', '28'],
    ['28', ' 28\n'],
    ['28', '+28'],
    ['28', '028'],
    ['28', '28.0'],
    ['28', '28.'],
    ['28', '$28$'],
    ['28', '\\(28\\)'],
    ['28', '\\boxed{28}'],
    ['28', '**28**'],
    ['28', '`28`'],
    ['28', '"28"'],
    ['28', '$28$.'],
    ['28', '\uff12\uff18'],
    ['-129', '-129.0'],
    ['-129', '\u2212129'],
    ['1234', '1,234'],
    ['1234567', '1,234,567.000'],
    ['0', '-0'],
    ['12345678901234567890123', '12,345,678,901,234,567,890,123'],
  ])('takes %s for %s', (key, answer) => {
    expect(task.verify(keyed(key), inTags(answer)).score).toBe(1)
  })

  it.each([
    ['28', '29'],
    ['28', '-28'],
    ['28', '2 8'],
    ['28', '28 or 29'],
    ['28', '7 * 4 = 28'],
    ['28', '28.01'],
    ['28', '28.0.0'],
    ['28', '28e0'],
    ['28', '0x1c'],
    ['28', '2_8'],
    ['1234', '12,34'],
    ['1234', ',1234'],
    ['1234', '1,2,3,4'],
    ['102', '10\u00b2'],
    ['28', '--28'],
    ['28', ''],
    ['12345678901234567890123', '12345678901234567890124'],
  ])('does not take, for %s, %s', (key, answer) => {
    expect(task.verify(keyed(key), inTags(answer)).score).toBe(0)
  })

  it('divides only where it is exact', () => {
    let divisions = 0
    for (const { question } of items(task, 300)) {
      evaluateText(question.replace('Work out ', ''))
      if (question.includes('/')) divisions++
    }
    expect(divisions).toBeGreaterThan(200)
  })

  it('works one operation a line, innermost bracket first', () => {
    const found = [...items(task, 400)].find(
      ({ steps }) => steps.length > 5 && !steps.some(({ aside }) => aside),
    )!
    const lines = found.steps.slice(1).map((step) => step.text)
    for (const line of lines) expect(line).toMatch(/^(-?\d+ [-+*/] -?\d+|-\( -?\d+ \)) = -?\d+$/)
  })

  it('asks at its hardest for six terms of four digits with two products', () => {
    for (let seed = 0; seed < 100; seed++) {
      const { question } = task.generate({ seed, difficulty: 6 })
      const terms = question.match(/\d+/g)!
      expect(terms).toHaveLength(6)
      expect(terms.every((term) => term.length === 4)).toBe(true)
      expect(question.split('*').length).toBeGreaterThan(2)
    }
  })
})
