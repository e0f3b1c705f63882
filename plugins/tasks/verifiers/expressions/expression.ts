// expression: any equivalent expression, such as 2(x+1) for 2x + 2: + - * / ^, parentheses, decimals, one
// variable.
//
// Both sides become exact quotients of polynomials and are cross-multiplied; no points are sampled, nothing
// is rounded. If the question shows an equal expression, copying it would be rewarded: `max_chars` limits the
// answer's length.

import { plainAnswer } from '../../numbers.ts'
import { Fault, oneAnswer, type Settings, type Verifier } from '../verifier.ts'
import { readExpression } from './expression-reader.ts'
import { arithmetic, TooLarge } from './polynomial.ts'

const MAX_CHARS = 256

const withoutSpaces = (text: string): number => text.replace(/\s/g, '').length

export const expression: Verifier = {
  name: 'expression',
  summary:
    'An expression of equal value, in one `variable` (x if unset) or none, of at most `max_chars` characters',
  keys: ['variable', 'max_chars'],
  settings({ variable = 'x', max_chars = MAX_CHARS }) {
    if (typeof variable !== 'string' || !/^[a-zA-Z]$/.test(variable))
      throw new Fault('"variable" must be one letter')
    if (!Number.isInteger(max_chars) || (max_chars as number) < 1 || (max_chars as number) > MAX_CHARS)
      throw new Fault(`"max_chars" must be a whole number from 1 to ${MAX_CHARS}`)
    return { variable, max_chars }
  },
  key(answer, { variable }) {
    const text = oneAnswer(answer)
    try {
      if (text.length <= MAX_CHARS && readExpression(text, variable as string, arithmetic())) return text
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error
    }
    throw new Fault(
      `"answer" must be an expression in ${variable} such as 2*${variable}^2 - 1, of degree 64 at most, not "${text.slice(0, 40)}"`,
    )
  },
  accepts(text, answer, { variable, max_chars }: Settings) {
    const plain = plainAnswer(text, MAX_CHARS)
    if (plain === null || withoutSpaces(plain) > (max_chars as number)) return false
    try {
      const given = readExpression(plain, variable as string, arithmetic())
      if (!given) return false
      const by = arithmetic()
      return by.same(given, readExpression(oneAnswer(answer), variable as string, by)!)
    } catch (error) {
      if (error instanceof TooLarge) return false
      throw error
    }
  },
}
