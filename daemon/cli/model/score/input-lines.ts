// Reads JSON lines from a file or from standard input, each with its line number. They come in windows that end where
// the input pauses, so that a program that writes one line and waits for the answer gets it.

import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'

export interface InputLine {
  /** Counted from 1. */
  number: number
  value: Record<string, unknown>
}

interface InputOptions {
  /** `-` is standard input. */
  file: string
  /** Maximum number of lines in a window. */
  most: number
}

const MAX_LINE_CHARS = 64 * 1024 * 1024

/** Skips empty lines. Yields everything before an invalid line, then throws E_USAGE with its number. */
export async function* inputWindows(
  { file, most }: InputOptions,
  { io }: Pick<Context, 'io'>,
): AsyncGenerator<InputLine[]> {
  const input = file === '-' ? io.stdin : createReadStream(resolve(io.cwd, file))
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let number = 0
  let window: InputLine[] = []
  try {
    for await (const chunk of input) {
      rest += decoder.write(chunk as Buffer)
      const lines = rest.split('\n')
      rest = lines.pop()!
      for (const text of lines) {
        number += 1
        if (text.trim() === '') continue
        window.push(yield* parsed(withoutMark(text, number), number, window))
        if (window.length >= most) yield window.splice(0)
      }
      if (rest.length > MAX_LINE_CHARS)
        throw lineError(number + 1, `it has more than ${MAX_LINE_CHARS} characters`)
      if (window.length > 0) yield window.splice(0)
    }
    rest += decoder.end()
    if (rest.trim() !== '') {
      window = []
      yield [yield* parsed(withoutMark(rest, number + 1), number + 1, window)]
    }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    const code = (cause as NodeJS.ErrnoException).code
    if (code === undefined) throw cause
    throw new WaggleError('E_USAGE', `cannot read ${file}: ${(cause as Error).message}`, {
      hint: 'Give a file with one JSON object a line, or - for standard input.',
      cause,
    })
  }
}

/** Some editors start a file with a byte-order mark. */
function withoutMark(text: string, number: number): string {
  return number === 1 && text.startsWith('\ufeff') ? text.slice(1) : text
}

/** Yields the unfinished window before it throws. */
async function* parsed(
  text: string,
  number: number,
  window: InputLine[],
): AsyncGenerator<InputLine[], InputLine> {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new SyntaxError('it is not a JSON object')
    return { number, value: value as Record<string, unknown> }
  } catch (error) {
    if (window.length > 0) yield window.splice(0)
    throw lineError(number, safeText((error as Error).message, { limit: 120, line: true }))
  }
}

export function lineError(number: number, problem: string): WaggleError {
  return new WaggleError('E_USAGE', `line ${number}: ${problem}`, {
    hint: 'All lines before it were scored. `waggle help score` shows the format.',
    data: { line: number },
  })
}
