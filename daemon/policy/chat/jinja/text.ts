// What Python's `str` does, where JavaScript's strings do something else: a character is a code point, and white space
// is another set.

/** The characters that Python's `str.isspace` accepts, for a class of a regular expression. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const IS_SPACE = new RegExp(`^[${SPACE}]$`, 'u')
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/

const isSpace = (character: string): boolean => IS_SPACE.test(character)

/** With one string an item, as Python counts. */
export const characters = (text: string): string[] => (PAIR.test(text) ? [...text] : text.split(''))

export function lengthOf(text: string): number {
  if (!PAIR.test(text)) return text.length
  let length = 0
  for (const _ of text) length += 1
  return length
}

/** `chars` is a set of characters; without it, white space. */
export function strip(text: string, chars: string | undefined, ends: 'both' | 'left' | 'right'): string {
  const set = chars === undefined ? undefined : new Set(characters(chars))
  const isCut = (one: string): boolean => (set ? set.has(one) : isSpace(one))
  const parts = characters(text)
  let [start, end] = [0, parts.length]
  if (ends !== 'right') while (start < end && isCut(parts[start]!)) start += 1
  if (ends !== 'left') while (end > start && isCut(parts[end - 1]!)) end -= 1
  return start === 0 && end === parts.length ? text : parts.slice(start, end).join('')
}

export const rstrip = (text: string): string => strip(text, undefined, 'right')

const LINE = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g

export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = []
  let from = 0
  for (const { 0: end, index } of text.matchAll(LINE)) {
    lines.push(text.slice(from, index + (keepEnds ? end.length : 0)))
    from = index + end.length
  }
  if (from < text.length) lines.push(text.slice(from))
  return lines
}

/** Below zero if `a` comes before `b` by their code points. */
export function compareTexts(a: string, b: string): number {
  if (!PAIR.test(a) && !PAIR.test(b)) return a < b ? -1 : a > b ? 1 : 0
  const [left, right] = [characters(a), characters(b)]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

export const isIdentifier = (text: string): boolean => /^[\p{L}\p{Nl}_][\p{L}\p{N}\p{M}\p{Pc}]*$/u.test(text)

/** The first character as a capital letter, the others small. */
export function capitalize(text: string): string {
  const [first = '', ...rest] = characters(text)
  return titleCase(first) + rest.join('').toLowerCase()
}

const DIGRAPHS: Record<string, string> = { Ǆ: 'ǅ', Ǉ: 'ǈ', Ǌ: 'ǋ', Ǳ: 'ǲ' }

/** `ß` begins a word as `Ss`, not `SS`. */
function titleCase(character: string): string {
  const digraph = DIGRAPHS[character.toUpperCase()]
  if (digraph !== undefined) return digraph
  const [first = '', ...rest] = character.toUpperCase()
  return first + rest.join('').toLowerCase()
}

export function swapCase(text: string): string {
  return characters(text)
    .map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()))
    .join('')
}

/** Each run of letters begins with a capital letter. */
export function titled(text: string): string {
  return text.replace(/\p{L}+/gu, capitalize)
}

/** Each occurrence of `old`, or the first `most`. An empty `old` is found before each character and at the end. */
export function replaceText(text: string, old: string, by: string, most = Number.POSITIVE_INFINITY): string {
  if (most === Number.POSITIVE_INFINITY && old !== '') return text.replaceAll(old, () => by)
  let left = most
  if (old === '') {
    const parts = characters(text)
    const filled = parts.map((one) => (left-- > 0 ? by + one : one)).join('')
    return left > 0 ? filled + by : filled
  }
  const parts: string[] = []
  let from = 0
  for (let at = text.indexOf(old); at >= 0 && left > 0; at = text.indexOf(old, from), left--) {
    parts.push(text.slice(from, at))
    from = at + old.length
  }
  return [...parts, text.slice(from)].join(by)
}
