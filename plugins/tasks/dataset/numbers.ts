// The numbers of a row. An answer keeps the digits that it has in the file, since the built-in verifiers compare texts.
// A verifier from a file gets numbers, so these must be numbers that JavaScript can hold.

import { numberText } from '../../../protocol/json.ts'
import { readDecimal, sameValue } from '../verifiers/expressions/rational.ts'
import { type Answer, Fault } from '../verifiers/index.ts'

/** An answer as the verifier gets it; undefined if it is none. Throws Fault for a number that should be quoted. */
export function answerIn(value: unknown, { asNumbers }: { asNumbers: boolean }): Answer | undefined {
  const isOne = (one: unknown): boolean =>
    typeof one === 'string' ? one.isWellFormed() : numberText(one) !== undefined
  const read = (one: unknown): string | number => {
    if (typeof one === 'string') return one
    const text = numberText(one)!
    // Programs that write such integers often round them first.
    if (/^-?\d+$/.test(text) && !Number.isSafeInteger(Number(text)))
      throw new Fault(`"answer" is too large for a plain number; write it in quotes, "${text.slice(0, 80)}"`)
    if (asNumbers) return plain(one, 'answer') as number
    return typeof one === 'number' ? one : text
  }
  if (isOne(value)) return read(value)
  return Array.isArray(value) && value.every(isOne) ? value.map(read) : undefined
}

/** A number that `parseExactly` kept as text, as a number; anything else as it is. Throws Fault if digits would be lost. */
export function plain(value: unknown, name: string): unknown {
  const text = typeof value === 'object' ? numberText(value) : undefined
  if (text === undefined) return value
  const [written, held] = [text, String(Number(text))].map(readDecimal)
  if (written && held && sameValue(written, held)) return Number(text)
  throw new Fault(
    `"${name}" has more digits than a number can hold; write fewer, or write it in quotes, "${text.slice(0, 80)}"`,
  )
}
