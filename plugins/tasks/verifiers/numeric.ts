// numeric: one number, equal to the answer or within a tolerance. Numbers are compared as exact decimals, so a
// tolerance of 0.1 means 0.1. If two tolerances are given, the wider one counts. Units, percent signs, sums and
// fractions are refused.

import { plainAnswer } from '../numbers.ts'
import { type Rational, readDecimal, times, within } from './expressions/rational.ts'
import { amount, Fault, oneAnswer, type Settings, type Verifier } from './verifier.ts'

const exactly = (value: unknown): Rational => readDecimal(String(value))!

export const numeric: Verifier = {
  name: 'numeric',
  summary:
    'One number that differs by at most `tolerance`, or by at most `relative_tolerance` times the answer; compared exactly, 0 each if unset',
  keys: ['tolerance', 'relative_tolerance'],
  settings(given: Settings) {
    const settings = {
      tolerance: amount(given, 'tolerance'),
      relative_tolerance: amount(given, 'relative_tolerance'),
    }
    // With a relative tolerance of 1 or more, 0 would always be right.
    if (settings.relative_tolerance >= 1) throw new Fault('"relative_tolerance" must be below 1; 0.01 is 1 %')
    return settings
  },
  key(answer) {
    const text = oneAnswer(answer).trim()
    if (!readDecimal(text))
      throw new Fault(`"answer" must be a number such as 12, -0.5 or 6.02e23, not "${text.slice(0, 40)}"`)
    return text
  },
  accepts(text, answer, { tolerance, relative_tolerance }) {
    const plain = plainAnswer(text)
    const given = plain === null ? null : readDecimal(plain)
    if (given === null) return false
    const right = readDecimal(oneAnswer(answer).trim())!
    return (
      within(given, right, exactly(tolerance)) ||
      within(given, right, times(right, exactly(relative_tolerance)))
    )
  },
}
