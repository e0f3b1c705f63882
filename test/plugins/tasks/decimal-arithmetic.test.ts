import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/arithmetic/decimal-arithmetic.ts'
import { printDecimal, readDecimal, roundTo } from '../../../plugins/tasks/arithmetic/decimals.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, taskConformance } from './conformance.ts'
import { evaluateFraction } from './expressions.ts'

/** Long division of the exact fraction, digit by digit, rounded half away from zero. */
function solve(question: string): string {
  const [, expression, asked] = /^Work out (.+?)(?: to (\d+) significant digits\.)?$/.exec(question)!
  let [top, bottom] = evaluateFraction(expression!)
  const negative = top < 0n !== bottom < 0n
  if (top < 0n) top = -top
  if (bottom < 0n) bottom = -bottom
  if (top === 0n) return '0'
  let [exponent, significant] = [0, Number(asked ?? 12)]
  while (top >= bottom * 10n) [bottom, exponent] = [bottom * 10n, exponent + 1]
  while (top < bottom) [top, exponent] = [top * 10n, exponent - 1]
  let digits = 0n
  for (; significant > 0; significant--) {
    digits = digits * 10n + top / bottom
    top = (top % bottom) * 10n
  }
  if (top >= bottom * 5n) digits++
  const power = exponent - Number(asked ?? 12) + 1
  const text =
    power >= 0
      ? `${digits}${'0'.repeat(power)}`
      : String(digits)
          .padStart(1 - power, '0')
          .replace(new RegExp(`(\\d{${-power}})$`), '.$1')
  return `${negative ? '-' : ''}${text}`
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the first number': (question) => question.match(/[\d.]+/g)![0]!,
    zero: () => '0',
    one: () => '1',
  },
})

const valued = (exact: string, significant = 5): Instance => ({
  question: '',
  key: exact,
  steps: [],
  data: { exact, significant },
})

describe('decimal_arithmetic', () => {
  it.each([
    ['3.9', '3.9'],
    ['3.9', '3.900'],
    ['3.9', '+3.9'],
    ['3.9', '$3.9$.'],
    ['0.5', '.5'],
    ['3', '3.'],
    ['-0.26', '\u22120.26'],
    ['1234.5678', '1,234.6'],
    ['1234.5678', '1234.5678'],
    ['1234.5', '1234.5'],
    ['0.00123456', '0.0012346'],
    ['123456', '123460'],
    ['123456', '123456'],
    ['0', '0.0'],
  ])('takes, for %s to five digits, %s', (exact, answer) => {
    expect(task.verify(valued(exact), inTags(answer)).score).toBe(1)
  })

  it.each([
    ['3.9', '3.8999'],
    ['3.9', '39e-1'],
    ['3.9', '3,9'],
    ['3.9', '3.9.0'],
    ['3.9', '39/10'],
    ['3.9', ''],
    ['3.9', '.'],
    ['0', '0.00001'],
    ['1234.5678', '1234.5'],
    ['1234.5678', '1234.7'],
    ['123456', '123400'],
    ['123456', '12,3456'],
    ['2', 'two'],
  ])('does not take, for %s to five digits, %s', (exact, answer) => {
    expect(task.verify(valued(exact), inTags(answer)).score).toBe(0)
  })

  it.each([
    ['1.00005', 5, '1.0001'],
    ['-1.00005', 5, '-1.0001'],
    ['999.995', 5, '1000'],
    ['123456', 5, '123460'],
    ['0.000123456', 3, '0.000123'],
    ['0', 5, '0'],
  ])('rounds %s to %d digits half away from zero: %s', (exact, significant, wanted) => {
    expect(printDecimal(roundTo(readDecimal(exact)!, significant))).toBe(wanted)
  })
})
