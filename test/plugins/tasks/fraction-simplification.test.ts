import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/arithmetic/fraction-simplification.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, taskConformance } from './conformance.ts'

/** Divides out primes one by one; the generator multiplies coprime parts and its steps use Euclid. */
function solve(question: string): string {
  let [top, bottom] = (question.match(/\d+/g) ?? []).map(Number) as [number, number]
  for (let prime = 2; prime <= top; prime++)
    while (top % prime === 0 && bottom % prime === 0) {
      top /= prime
      bottom /= prime
    }
  return `${top}/${bottom}`
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the fraction given': (question) => (question.match(/\d+/g) ?? []).join('/'),
    'half of both parts': (question) =>
      (question.match(/\d+/g) ?? []).map((part) => Math.floor(Number(part) / 2)).join('/'),
    'one half': () => '1/2',
    'one over the quotient': (question) => {
      const [top, bottom] = (question.match(/\d+/g) ?? []).map(Number) as [number, number]
      return `1/${Math.round(bottom / top)}`
    },
  },
  // With 27 reduced fractions and four factors, guesses are right more often: a factor of 2 is one in four.
  // At level 3 one reduced fraction in thirty has a 1 on top.
  luck: { 0: 0.4, 1: 0.2, 2: 0.1, 3: 0.07 },
})

const twoThirds: Instance = { question: 'Lowest terms of 84/126?', key: '2/3', steps: [] }

describe('fraction_simplification', () => {
  it.each([
    '2/3',
    ' 2 / 3 ',
    '2/3.',
    '+2/3',
    '-2/-3',
    '02/03',
    '2\u20443',
    '\u2154',
    '$2/3$',
    '\\(2/3\\)',
    '\\boxed{2/3}',
    '\\frac{2}{3}',
    '$\\frac{2}{3}$',
    '\\dfrac{2}{3}',
    '\\tfrac{ 2 }{ 3 }',
    '\\frac23',
    '\\frac {2} {3}',
    '\\dfrac2{3}',
    '$$\\frac23$$',
    '$$\n\\frac{2}{3}\n$$',
    '\\[\\frac{2}{3}\\]',
    '\\[ 2/3 \\].',
    '\\boxed{$2/3$}',
    '\\boxed{$\\frac{2}{3}$}',
    '$\\boxed{\\frac{2}{3}}$',
    '\uff12/\uff13',
  ])('takes %s for two thirds', (answer) => {
    expect(task.verify(twoThirds, inTags(answer)).score).toBe(1)
  })

  it.each([
    '84/126',
    '4/6',
    '3/2',
    '-2/3',
    '-\\frac{2}{3}',
    '2/3/1',
    '2',
    '0.667',
    '84/126 = 2/3',
    '2/3 or 4/6',
    '\\frac{2}{3} or anything',
    '\\frac{2}{3}{1}',
    '\\frac{2}',
    '\\frac234',
    '\\frac2',
    '\\frac{2}{3',
    '$$2/3$',
    '\\[2/3',
    '\\boxed{2/3}{1}',
    '2/0',
    '2/',
    '/3',
    '2/3)',
    '1_0/3',
    'two thirds',
    '',
  ])('does not take %s', (answer) => {
    expect(task.verify(twoThirds, inTags(answer)).score).toBe(0)
  })

  it('takes a whole number for a fraction over one', () => {
    expect(task.verify({ question: '', key: '5/1', steps: [] }, inTags('5')).score).toBe(1)
  })

  it('has one class for a fraction, whatever its style', () => {
    const styles = new Set(
      [...items(task, 200)].map(({ question }) => /\\d?frac/.exec(question)?.[0] ?? 'plain'),
    )
    expect([...styles].sort()).toEqual(['\\dfrac', '\\frac', 'plain'])
  })
})
