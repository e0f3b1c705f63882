// Lines of JSON from a file or from standard input, as they come: each with its number, in windows that end where the
// input pauses, so that whoever writes a line and waits for the answer gets one.

import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'

export interface InputLine {
  /** From 1. */
  number: number
  value: Record<string, unknown>
}

export interface InputOptions {
  /** `-` is standard input. */
  file: string
  /** Lines in a window at most. */
  most: number
}

const MOST_LINE_CHARS = 64 * 1024 * 1024

/** Empty lines are passed over. Throws E_USAGE, which names the line, after the windows before it. */
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
        window.push(yield* parsed(text, number, window))
        if (window.length >= most) yield window.splice(0)
      }
      if (rest.length > MOST_LINE_CHARS)
        throw lineError(number + 1, `it has more than ${MOST_LINE_CHARS} characters`)
      if (window.length > 0) yield window.splice(0)
    }
    rest += decoder.end()
    if (rest.trim() !== '') {
      window = []
      yield [yield* parsed(rest, number + 1, window)]
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

/** The window before a line that is wrong still counts. */
async function* parsed(
  text: string,
  number: number,
  window: InputLine[],
): AsyncGenerator<InputLine[], InputLine> {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new SyntaxError('it is no JSON object')
    return { number, value: value as Record<string, unknown> }
  } catch (error) {
    if (window.length > 0) yield window.splice(0)
    throw lineError(number, safeText((error as Error).message, { limit: 120, line: true }))
  }
}

export function lineError(number: number, problem: string): WaggleError {
  return new WaggleError('E_USAGE', `line ${number}: ${problem}`, {
    hint: 'The lines before it were answered. `waggle help score` shows what a line looks like.',
    data: { line: number },
  })
}
