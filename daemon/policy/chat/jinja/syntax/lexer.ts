// Splits a template into tokens by the rules of Python's Jinja with the options that Hugging Face gives it for chat
// templates: `trim_blocks` and `lstrip_blocks` are on, and one newline at the end of the template is dropped.

import { isIdentifier, rstrip, SPACE } from '../text.ts'

/** `open` has the value `{{` or `{%`. */
type TokenType = 'data' | 'name' | 'string' | 'int' | 'float' | 'op' | 'open' | 'close' | 'end'

export interface Token {
  type: TokenType
  value: string
  line: number
}

export class TemplateSyntaxError extends Error {
  constructor(message: string, line: number) {
    super(`line ${line}: ${message}`)
  }
}

const START = new RegExp(
  `\\{%([-+]?)[${SPACE}]*raw[${SPACE}]*(-%\\}[${SPACE}]*|%\\})|(\\{%|\\{\\{|\\{#)([-+]?)`,
  'gu',
)
const END = {
  '{%': new RegExp(`\\+%\\}|-%\\}[${SPACE}]*|%\\}\\n?`, 'uy'),
  '{{': new RegExp(`-\\}\\}[${SPACE}]*|\\}\\}`, 'uy'),
}
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}[${SPACE}]*|#\\}\\n?`, 'gu')
const RAW_END = new RegExp(
  `\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*(?:\\+%\\}|-%\\}[${SPACE}]*|%\\}\\n?)`,
  'gu',
)
const BLANK = new RegExp(`^[${SPACE}]+$`, 'u')
const INSIDE: readonly [TokenType | 'space', RegExp][] = [
  ['space', new RegExp(`[${SPACE}]+`, 'uy')],
  ['float', /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iuy],
  ['int', /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iuy],
  ['name', /[\p{L}\p{N}\p{M}_]+/uy],
  ['string', /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/uy],
  ['op', /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}<>=.:|,;]/uy],
]
const CLOSES: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** Throws TemplateSyntaxError. */
export function tokenize(template: string): Token[] {
  const source = template.replace(/\r\n?/g, '\n').replace(/\n$/, '')
  const tokens: Token[] = []
  const lineAt = lineCounter(source)
  const push = (type: TokenType, value: string, at: number): void => {
    if (type !== 'data' || value !== '') tokens.push({ type, value, line: lineAt(at) })
  }
  /** Finds the end of a comment or of raw text, from `at` on. */
  const find = (pattern: RegExp, at: number, what: string): RegExpExecArray => {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (!found) throw new TemplateSyntaxError(`missing end of ${what}`, lineAt(at))
    return found
  }
  let at = 0
  for (;;) {
    START.lastIndex = at
    const found = START.exec(source)
    if (!found) break
    const { 1: rawSign, 2: rawEnd, 3: open, 4: sign = '' } = found
    const isLineStart = at === 0 || source[at - 1] === '\n'
    const before = source.slice(at, found.index)
    push('data', open === '{{' && sign !== '-' ? before : stripped(before, rawSign ?? sign, isLineStart), at)
    at = found.index + found[0].length
    if (rawEnd !== undefined) {
      const end = find(RAW_END, at, 'raw')
      const isStart = source[at - 1] === '\n'
      push('data', stripped(source.slice(at, end.index), end[1]!, isStart), at)
      at = end.index + end[0].length
    } else if (open === '{#') {
      const end = find(COMMENT_END, at, 'a comment')
      at = end.index + end[0].length
    } else {
      push('open', open!, found.index)
      at = inside(source, { at, open: open as '{{' | '{%' }, { push, lineAt })
    }
  }
  push('data', source.slice(at), at)
  push('end', '', source.length)
  return tokens
}

/** The text in front of a tag: `-` strips all white space, and without a sign a block strips its indentation. */
function stripped(text: string, sign: string, isLineStart: boolean): string {
  if (sign === '-') return rstrip(text)
  const line = text.lastIndexOf('\n') + 1
  const isIndented = sign !== '+' && (line > 0 || isLineStart) && BLANK.test(text.slice(line))
  return isIndented ? text.slice(0, line) : text
}

/** Reads a tag up to its end, whose place it returns. */
function inside(
  source: string,
  { at, open }: { at: number; open: '{{' | '{%' },
  { push, lineAt }: { push(type: TokenType, value: string, at: number): void; lineAt(at: number): number },
): number {
  const brackets: string[] = []
  for (let here = at; ; ) {
    const end = END[open]
    end.lastIndex = here
    const ended = brackets.length === 0 ? end.exec(source) : null
    if (ended) {
      push('close', '', here)
      return here + ended[0].length
    }
    const [type, value] = tokenAt(source, here)
    if (type === undefined || value === undefined) {
      const shown = here < source.length ? `unexpected ${JSON.stringify(source[here])}` : 'a tag does not end'
      throw new TemplateSyntaxError(shown, lineAt(here))
    }
    if (type === 'op' && CLOSES[value]) brackets.push(CLOSES[value])
    else if (type === 'op' && ')]}'.includes(value) && brackets.pop() !== value)
      throw new TemplateSyntaxError(`unexpected "${value}"`, lineAt(here))
    if (type === 'name' && !isIdentifier(value))
      throw new TemplateSyntaxError('a name with an invalid character', lineAt(here))
    if (type !== 'space') push(type, type === 'string' ? unescaped(value, lineAt(here)) : value, here)
    here += value.length
  }
}

function tokenAt(source: string, at: number): [TokenType | 'space', string] | [] {
  for (const [type, pattern] of INSIDE) {
    pattern.lastIndex = at
    const found = pattern.exec(source)
    if (found) return [type, found[0]]
  }
  return []
}

const SHORT: Record<string, string> = {
  ...{ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', a: '\x07', '\\': '\\', "'": "'", '"': '"' },
  '\n': '',
}

/** A string without its quotes. As in Python, an escape that does not exist stays as it is. */
function unescaped(literal: string, line: number): string {
  return literal
    .slice(1, -1)
    .replace(
      /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g,
      (all, x?: string, u?: string, big?: string, octal?: string, one?: string) => {
        if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
        const hex = x ?? u ?? big
        if (hex !== undefined) return pointOf(Number.parseInt(hex, 16), line)
        if (one !== undefined && 'xuUN'.includes(one))
          throw new TemplateSyntaxError(
            `the escape \\${one} in a string is not complete or not supported`,
            line,
          )
        return (one !== undefined ? SHORT[one] : undefined) ?? all
      },
    )
}

function pointOf(code: number, line: number): string {
  if (code <= 0x10ffff) return String.fromCodePoint(code)
  throw new TemplateSyntaxError('a string has a character beyond Unicode', line)
}

/** Counts lines, for places that never go back. */
function lineCounter(source: string): (at: number) => number {
  let [line, from] = [1, 0]
  return (at) => {
    for (let next = source.indexOf('\n', from); next >= 0 && next < at; next = source.indexOf('\n', from)) {
      line += 1
      from = next + 1
    }
    return line
  }
}
