// fraction: a rational number in any form: 3/4, 6/8, \frac{3}{4} or 0.75. Equal value is right. With `lowest_terms` the
// fraction must be reduced; use it if the question shows the fraction, since copying it would be right otherwise.

import { plainAnswer } from '../../numbers.ts'
import { Fault, flag, oneAnswer, type Verifier } from '../verifier.ts'
import { isLowest, readFraction, sameValue } from './rational.ts'

export const fraction: Verifier = {
  name: 'fraction',
  summary: 'A fraction, whole number or decimal of equal value; with `lowest_terms` only in lowest terms',
  keys: ['lowest_terms'],
  settings: (given) => ({ lowest_terms: flag(given, 'lowest_terms') }),
  key(answer, { lowest_terms }) {
    const text = oneAnswer(answer)
    const read = readFraction(text)
    if (!read) throw new Fault(`"answer" must be a fraction such as 3/4, not "${text.slice(0, 40)}"`)
    if (lowest_terms === true && read.parts && !isLowest(read.parts))
      throw new Fault(`"answer" ${text.slice(0, 40)} is not in lowest terms, which "lowest_terms" asks for`)
    return text
  },
  accepts(text, answer, { lowest_terms }) {
    const plain = plainAnswer(text)
    const given = plain === null ? null : readFraction(plain)
    if (given === null || !sameValue(given, readFraction(oneAnswer(answer))!)) return false
    return lowest_terms !== true || (given.parts ? isLowest(given.parts) : given.bottom === 1n)
  },
}
