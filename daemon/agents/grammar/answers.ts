// The form of an answer as a grammar.

import type { Grammar } from '../../engine/grammar/grammar.ts'
import { characters, either, grammarOf, type Part, sequence, text } from './parts.ts'
import { regexOf } from './regex.ts'
import { schemaPart } from './schema.ts'
import { anyObject, space } from './values.ts'

/** What an answer must be. */
export type Form =
  | { kind: 'object' }
  | { kind: 'schema'; schema: unknown }
  | { kind: 'regex'; regex: string }
  | { kind: 'choice'; choices: readonly string[] }

/** Throws 400 for a form that cannot be kept. */
export function partOf(form: Form): Part {
  switch (form.kind) {
    case 'object':
      return anyObject
    case 'schema':
      return schemaPart(form.schema)
    case 'choice':
      return either(...form.choices.map(text))
    case 'regex':
      return regexPart(form.regex)
  }
}

/** The whole text is of this expression, whether it says so or not. */
export function regexPart(regex: string): Part {
  return either(...regexOf(regex, { character: characters, where: 'regex' }).map(({ part }) => part))
}
