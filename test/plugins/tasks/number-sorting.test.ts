import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/arithmetic/number-sorting.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, taskConformance } from './conformance.ts'

const numbersIn = (question: string): number[] => (question.match(/-?\d+/g) ?? []).map(Number)

/** Counts how many numbers come before each; the generator sorts. */
function solve(question: string): string {
  const numbers = numbersIn(question)
  const sign = question.includes('descending') ? -1 : 1
  const place = (at: number): number =>
    numbers.filter((other, i) => {
      const difference = sign * (other - numbers[at]!)
      return difference < 0 || (difference === 0 && i < at)
    }).length
  const sorted: number[] = []
  for (const [i, number] of numbers.entries()) sorted[place(i)] = number
  return sorted.join(', ')
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the numbers as given': (question) => numbersIn(question).join(', '),
    'the numbers from last to first': (question) => numbersIn(question).reverse().join(', '),
  },
  // Three numbers that are not in order have five orders left.
  luck: { 0: 0.25, 1: 0.15, 2: 0.05, 3: 0.02, 4: 0.02 },
  equations: 0,
})

const three: Instance = {
  question: 'Sort these numbers in ascending order: 7, -3, 10',
  key: '-3, 7, 10',
  steps: [],
}

describe('number_sorting', () => {
  it.each([
    '-3, 7, 10',
    '-3 7 10',
    '-3,7,10',
    '[-3, 7, 10]',
    '(-3, 7, 10)',
    '\u22123, 7, 10.',
    '-3,  7,\n10',
  ])('accepts %j', (answer) => expect(task.verify(three, inTags(answer)).score).toBe(1))

  it.each(['7, -3, 10', '3, 7, 10', '-3, 7', '-3, 7, 10, 10', '-3 < 7 < 10', '-3, 7, ten', '', ','])(
    'refuses %j',
    (answer) => expect(task.verify(three, inTags(answer)).score).toBe(0),
  )
})
