// Reads metadata by key, and checks that each value has the type that the key must have.

import type { WaggleError } from '../../../protocol/errors.ts'
import { modelError, quote } from '../safetensors/json.ts'
import { DAMAGED } from './bytes.ts'
import type { Metadata } from './header.ts'

export interface Facts {
  number(key: string): number | undefined
  flag(key: string): boolean | undefined
  text(key: string): string | undefined
  texts(key: string): readonly string[] | undefined
  /** An array of numbers of any type. */
  numbers(key: string): ArrayLike<number> | undefined
  /** The error for a defect of this file. */
  fail(problem: string, hint?: string): WaggleError
}

export function factsOf({ metadata, where }: { metadata: Metadata; where: string }): Facts {
  const fail = (problem: string, hint = DAMAGED) => modelError(where, problem, hint)
  function typed<Result>(
    key: string,
    what: string,
    is: (value: unknown) => value is Result,
  ): Result | undefined {
    const value = metadata.get(key)
    if (value === undefined || is(value)) return value
    throw fail(`the metadata entry ${quote(key)} must be ${what}`)
  }
  return {
    number: (key) => typed(key, 'a number below 2^53', (value) => typeof value === 'number'),
    flag: (key) => typed(key, 'true or false', (value) => typeof value === 'boolean'),
    text: (key) => typed(key, 'a text', (value) => typeof value === 'string'),
    texts: (key) =>
      typed(key, 'a list of texts', (value): value is readonly string[] => Array.isArray(value)),
    numbers: (key) =>
      typed(
        key,
        'a list of numbers',
        (value): value is Exclude<typeof value, unknown[]> & ArrayLike<number> => ArrayBuffer.isView(value),
      ),
    fail,
  }
}
