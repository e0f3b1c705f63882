// Parses untrusted JSON from a model file, and creates the errors for its defects.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'

/** The error for an unusable model file. `where` is the file's name. */
export function modelError(where: string, problem: string, hint: string, cause?: unknown): WaggleError {
  return new WaggleError('E_MODEL', `${where}: ${problem}`, { hint, data: { file: where }, cause })
}

export const FETCH_AGAIN =
  'The file is damaged, or was not written by a safetensors tool. Fetch or export it again.'

/** Parses a JSON object whose keys are unique at every level and which is nested no deeper than a header needs. */
export function parseJson(
  bytes: Uint8Array,
  where: string,
  part: 'header' | 'index',
): Record<string, unknown> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    refuseDuplicates(text)
    const document = asObject(JSON.parse(text))
    if (!document || text[0] !== '{') throw new SyntaxError('not an object')
    return document
  } catch (error) {
    const reason = safeText((error as Error).message, { limit: 120, line: true })
    throw modelError(where, `the ${part} is not valid: ${reason}`, FETCH_AGAIN, error)
  }
}

/** JSON.parse accepts any depth and silently keeps the last of two equal keys. No honest file needs either. */
function refuseDuplicates(text: string): void {
  const open: Array<Set<string> | undefined> = []
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/gs
  const colon = /\s*:/y
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match
    if (found === '{' || found === '[') open.push(found === '{' ? new Set() : undefined)
    else if (found === '}' || found === ']') open.pop()
    else {
      colon.lastIndex = token.lastIndex
      if (!colon.test(text)) continue
      const key: string = found.includes('\\') ? JSON.parse(found) : found.slice(1, -1)
      const keys = open.at(-1)
      if (keys?.has(key)) throw new SyntaxError(`the name ${quote(key)} occurs twice`)
      keys?.add(key)
    }
    if (open.length > 4) throw new SyntaxError('nested too deep')
  }
}

export function stringMap(value: unknown, where: string): Record<string, string> {
  const map = asObject(value)
  if (!map || !Object.values(map).every((text) => typeof text === 'string')) {
    throw modelError(where, 'a map of strings holds something else', FETCH_AGAIN)
  }
  return map as Record<string, string>
}

export function asObject(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

export function count(bytes: number): string {
  return bytes === 1 ? '1 byte' : `${bytes.toLocaleString('en-US')} bytes`
}

/** A name from a file, made safe to print in a message. */
export function quote(name: string): string {
  return `"${safeText(name, { limit: 80, line: true })}"`
}
