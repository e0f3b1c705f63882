// Reads what the model writes: text, thoughts and tool calls. A call is JSON with `name` and `arguments` (or
// `parameters`), either between <tool_call> tags (Qwen, Hermes, SmolLM2) or as the whole answer (Llama 3). What is in a
// thought is no call, whatever it looks like, and what is in a string of a call is part of that string.
//
// It can be read while it is being written: text is content as soon as no call can begin in it.

import { afterSpace, membersOf, scanValue, type ValueScan } from './spans.ts'

interface WrittenCall {
  name: string
  /** JSON text, as the model wrote it. */
  arguments: string
}

export interface Reader {
  /** Reads on. `text` is everything so far: what was read before, with more at its end. `isWhole` if it has ended. */
  read(text: string, isWhole: boolean): void
  /** The text outside calls, as far as that is known. */
  readonly content: string
  /** Calls that are complete. They are text after all if it turns out that the answer began within a thought. */
  readonly calls: readonly WrittenCall[]
}

interface ReaderOptions {
  /** The tools that there are. A call of anything else is text. */
  names: ReadonlySet<string>
  /** The prompt has opened a thought, as the templates of some models do. */
  isThought?: boolean
}

const [CALL, CALL_END] = ['<tool_call>', '</tool_call>']
const THOUGHTS = ['think', 'thinking']
const OPENING = THOUGHTS.map((name) => `<${name}>`)
const CLOSING = THOUGHTS.map((name) => `</${name}>`)
const TAGS = [CALL, ...OPENING, ...CLOSING]

/** How a thought ends that a prompt has opened at its end; undefined if it has opened none. */
export function closingOf(prompt: string): string | undefined {
  const end = prompt.trimEnd()
  return CLOSING[OPENING.findIndex((tag) => end.endsWith(tag))]
}

/** What was found at a place: a call or text that ends there, or nothing until more is written. */
type Found = { end: number; calls?: WrittenCall[] } | undefined

export function createReader({ names, isThought: isBegun = false }: ReaderOptions): Reader {
  let [at, content, isThought] = [0, '', isBegun]
  let calls: WrittenCall[] = []
  /** There was nothing but white space and thoughts so far, so a call may begin without a tag. */
  let isBare = true
  let scan: { start: number; value: ValueScan } | undefined

  const valueAt = (start: number, text: string): number | undefined => {
    if (scan?.start !== start) scan = { start, value: scanValue(start) }
    return scan.value.end(text)
  }
  const take = (text: string, end: number): void => {
    content += text.slice(at, end)
    at = end
  }

  /** A call may begin at `at`, with JSON at `start`. If it is none, its first `length` characters are text. */
  const callAt = (text: string, { start, length, isWhole }: Span): Found => {
    const none = { end: at + length }
    if (start === text.length) return isWhole ? none : undefined
    if (!/^[[{]\s*(?:["[{]|$)/.test(text.slice(start, start + 80))) return none
    const end = valueAt(start, text)
    if (end === undefined) return isWhole ? none : undefined
    if (Number.isNaN(end)) return none
    const next = afterSpace(text, end)
    const rest = text.slice(next, next + CALL_END.length)
    const isTagged = length > 1
    if (isTagged && rest === CALL_END) return of(text.slice(start, end), next + CALL_END.length)
    if (isTagged && rest.startsWith(CALL)) return of(text.slice(start, end), next)
    const isLast = rest === '' || (isTagged && (CALL_END.startsWith(rest) || CALL.startsWith(rest)))
    if (!isLast) return isTagged ? none : { end }
    return isWhole ? of(text.slice(start, end), text.length) : undefined
  }
  const of = (json: string, end: number): Found => {
    const found = callsIn(json, names)
    return found ? { end, calls: found } : { end }
  }

  /** Reads one thing. False if more has to be written first. */
  const step = (text: string, isWhole: boolean): boolean => {
    if (isThought) {
      const close = firstOf(text, CLOSING, { from: at, isWhole })
      take(text, close.at)
      if (close.tag === undefined) return false
      take(text, at + close.tag.length)
      isThought = false
      return true
    }
    const start = isBare ? afterSpace(text, at) : at
    const isJson = isBare && (text[start] === '{' || text[start] === '[')
    const next = isJson ? { at: start, tag: '' } : firstOf(text, TAGS, { from: at, isWhole })
    if (text.slice(at, next.at).trim() !== '') isBare = false
    take(text, next.at)
    const { tag } = next
    if (tag === undefined) return false
    if (tag === CALL || isJson) {
      const length = Math.max(1, tag.length)
      const found = callAt(text, { start: isJson ? at : afterSpace(text, at + length), length, isWhole })
      if (!found) return false
      isBare = false
      calls.push(...(found.calls ?? []))
      if (found.calls) at = found.end
      else take(text, found.end)
      return true
    }
    if (OPENING.includes(tag)) isThought = true
    else {
      // The thought began before the answer did: nothing in it was a call.
      content = text.slice(0, at)
      calls = []
      isBare = true
    }
    take(text, at + tag.length)
    return true
  }

  return {
    read(text, isWhole) {
      while (at < text.length && step(text, isWhole));
    },
    get content() {
      return content
    },
    get calls() {
      return calls
    },
  }
}

interface Span {
  start: number
  length: number
  isWhole: boolean
}

/**
 * The first of the tags in the text. Without one, the end of the text; while more may be written, the place where a tag
 * may have begun.
 */
function firstOf(
  text: string,
  tags: readonly string[],
  { from, isWhole }: { from: number; isWhole: boolean },
): { at: number; tag?: string } {
  for (let at = text.indexOf('<', from); at >= 0; at = text.indexOf('<', at + 1)) {
    const tag = tags.find((one) => text.startsWith(one, at))
    if (tag !== undefined) return { at, tag }
    const rest = text.length - at
    if (!isWhole && tags.some((one) => rest < one.length && text.endsWith(one.slice(0, rest)))) return { at }
  }
  return { at: text.length }
}

function callsIn(json: string, names: ReadonlySet<string>): WrittenCall[] | undefined {
  try {
    const value: unknown = JSON.parse(json)
    const list = Array.isArray(value) ? [...membersOf(json).values()] : [json]
    const found = list.map((one) => callOf(one, names))
    return found.length > 0 && found.every((call) => call !== undefined) ? found : undefined
  } catch {
    return undefined
  }
}

function callOf(json: string, names: ReadonlySet<string>): WrittenCall | undefined {
  if (!json.startsWith('{')) return undefined
  const members = membersOf(json)
  const name: unknown = JSON.parse(members.get('name') ?? 'null')
  if (typeof name !== 'string' || !names.has(name)) return undefined
  const given = [members.get('arguments'), members.get('parameters')]
  const text = given.find((one) => one !== undefined && one !== 'null') ?? '{}'
  // Some models write the arguments as a string that holds JSON, or nothing.
  const written = text.startsWith('"') ? (JSON.parse(text) as string) : text
  return { name, arguments: written.trim() === '' ? '{}' : written }
}
