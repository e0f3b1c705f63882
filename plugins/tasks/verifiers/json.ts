// json: the same JSON value. Space and the order of an object's keys do not matter; numbers are compared as exact decimals.

import { numberText, parseExactly } from '../../../protocol/json.ts'
import { trimSpaces } from '../answer.ts'
import { readDecimal, within } from './expressions/rational.ts'
import { MAX_TEXT_CHARS, plainText } from './plain-text.ts'
import { Fault, flag, oneAnswer, type Verifier } from './verifier.ts'

const FENCE = /^```(?:json)?\n([\s\S]*)\n```$/
const NONE = Symbol('no JSON')

/** Without space and a code fence around it. */
export function unfenced(text: string): string {
  const trimmed = trimSpaces(text)
  return FENCE.exec(trimmed)?.[1] ?? trimmed
}

function valueIn(text: string): unknown {
  try {
    return parseExactly(unfenced(text))
  } catch {
    return NONE
  }
}

function same(a: unknown, b: unknown, ignoreCase: boolean): boolean {
  const [first, second] = [numberText(a), numberText(b)]
  if (first !== undefined || second !== undefined) {
    const [x, y] = [readDecimal(first ?? ''), readDecimal(second ?? '')]
    return x !== null && y !== null && within(x, y, readDecimal('0')!)
  }
  if (typeof a === 'string' && typeof b === 'string')
    return plainText(a, ignoreCase) === plainText(b, ignoreCase)
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) =>
        Object.hasOwn(b, name) &&
        same((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name], ignoreCase),
    )
  )
}

export const json: Verifier = {
  name: 'json',
  summary:
    'The same JSON, in any order of keys; `"answer"` is its text. With `ignore_case`, texts in it may differ in case',
  keys: ['ignore_case'],
  settings: (given) => ({ ignore_case: flag(given, 'ignore_case') }),
  key(answer) {
    const text = oneAnswer(answer)
    if (text.length > MAX_TEXT_CHARS) throw new Fault(`"answer" has more than ${MAX_TEXT_CHARS} characters`)
    if (valueIn(text) === NONE)
      throw new Fault(
        `"answer" must be JSON as a text, such as "{\\"name\\": \\"Ada\\"}", not "${text.slice(0, 40)}"`,
      )
    return text
  },
  accepts(text, answer, { ignore_case }) {
    if (text.length > MAX_TEXT_CHARS) return false
    const given = valueIn(text)
    return given !== NONE && same(given, valueIn(oneAnswer(answer)), ignore_case === true)
  },
}
