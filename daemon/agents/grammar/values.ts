// JSON values of any kind, and what they are put together from.

import { number } from './numbers.ts'
import { call, either, type Part, type Rule, repeated, sequence, text } from './parts.ts'
import { anyString } from './strings.ts'

/** Between tokens of JSON: at most one space, or a new line with its indentation. */
const SPACE: Rule = {
  part: () => either(text(''), text(' '), sequence(text('\n'), repeated(text(' '), 0, 24))),
}
export const space: Part = call(SPACE)
export const comma = sequence(space, text(','), space)
export const colon = sequence(space, text(':'), space)

/** A list or an object with this between its brackets. */
export function bracketed(open: string, inner: Part, close: string): Part {
  return sequence(text(open), space, inner, space, text(close))
}

const VALUE: Rule = {
  part: () => either(anyString, anyNumber, ...['true', 'false', 'null'].map(text), anyObject, anyArray),
}
export const anyValue: Part = call(VALUE)
export const anyNumber: Part = number({ isWhole: false })

/** None, or several with commas between them. */
function list(one: Part): Part {
  return either(text(''), sequence(one, repeated(sequence(comma, one), 0, Number.POSITIVE_INFINITY)))
}

export const anyObject: Part = bracketed('{', list(sequence(anyString, colon, anyValue)), '}')
const anyArray: Part = bracketed('[', list(anyValue), ']')

/** Exactly this value. Its numbers stay as they were written. */
export function literal(value: unknown): Part {
  return text(JSON.stringify(value))
}
