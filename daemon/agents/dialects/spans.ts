// Finds values in JSON text without parsing them, so that they can be handed on as they were written.

/** Most levels of nested brackets. Deeper values would exhaust the stack of code that walks through them. */
const MAX_DEPTH = 64

/** Reads a list or an object up to its last bracket, through text that may still grow. */
export interface ValueScan {
  /**
   * Reads on. `text` is the same text as before, with more at its end. Returns where the value ends; undefined if the
   * text ends first; NaN if the value is nested too deep.
   */
  end(text: string): number | undefined
}

export function scanValue(start: number): ValueScan {
  let [at, depth, isText] = [start, 0, false]
  let found: number | undefined
  return {
    end(text) {
      if (found !== undefined) return found
      for (; at < text.length; at++) {
        const char = text[at]
        if (isText) {
          // What follows a backslash may not be there yet.
          if (char === '\\' && ++at >= text.length) {
            at -= 1
            return undefined
          }
          if (char === '"') isText = false
        } else if (char === '"') isText = true
        else if (char === '{' || char === '[') depth += 1
        else if (char === '}' || char === ']') depth -= 1
        if (depth > MAX_DEPTH) found = Number.NaN
        else if (depth === 0 && !isText) found = at + 1
        if (found !== undefined) return found
      }
      return undefined
    },
  }
}

/** The texts of an object's values by key, or of a list's by index. `json` must be valid and begin with its bracket. */
export function membersOf(json: string): Map<string, string> {
  const members = new Map<string, string>()
  let at = afterSpace(json, 1)
  while (json[at] !== '}' && json[at] !== ']') {
    let key = String(members.size)
    if (json[0] === '{') {
      const end = endOf(json, at)
      key = JSON.parse(json.slice(at, end)) as string
      at = afterSpace(json, afterSpace(json, end) + 1)
    }
    const end = endOf(json, at)
    members.set(key, json.slice(at, end))
    at = afterSpace(json, end)
    if (json[at] === ',') at = afterSpace(json, at + 1)
  }
  return members
}

function endOf(json: string, at: number): number {
  if (/["[{]/.test(json[at]!)) return scanValue(at).end(json)!
  const scalar = /[^\s,\]}]*/y
  scalar.lastIndex = at
  scalar.test(json)
  return scalar.lastIndex
}

const TOKEN = /"[^"\\]*(?:\\[\s\S][^"\\]*)*("?)|[{}[\],:]|[^\s"{}[\],:]+/g
/** The characters of a string, up to one that is cut off. */
const CHARACTERS = /^"(?:[^\\]|\\[^u]|\\u[0-9a-fA-F]{4})*/

/**
 * An object's text that was cut off, with its end. Keys without a value are left out, and so are numbers and words that may
 * go on.
 */
export function closed(json: string): string {
  const open: string[] = []
  let [before, whole] = ['', '{}']
  let end = 0
  for (const { 0: token, 1: quote, index } of json.matchAll(TOKEN)) {
    const isValue = before === ':' || open.at(-1) === ']'
    before = token
    if (quote === '')
      return isValue
        ? `${json.slice(0, index)}${CHARACTERS.exec(json.slice(index))![0]}"${open.toReversed().join('')}`
        : `${json.slice(0, end)}${whole}`
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']')
    else if (token === '}' || token === ']') open.pop()
    else if (!isValue || /^[,:]/.test(token) || (quote === undefined && index + token.length === json.length))
      continue
    end = index + token.length
    whole = open.toReversed().join('')
  }
  return `${json.slice(0, end)}${whole}`
}

/** The place of the first character from `at` on that is no white space. */
export function afterSpace(text: string, at: number): number {
  const space = /\s*/y
  space.lastIndex = at
  space.test(text)
  return space.lastIndex
}

/** True if JSON text is nested deeper than values that are read may be. */
export function isTooDeep(json: string): boolean {
  const start = afterSpace(json, 0)
  return /[[{]/.test(json[start] ?? '') && Number.isNaN(scanValue(start).end(json) ?? 0)
}
