// From JSON to Python's values and back. Numbers that JSON.rawJSON holds keep all digits.

import type { Budget } from './budget.ts'
import { floatText } from './show.ts'
import { compareTexts } from './text.ts'
import { Dict, Tuple, TypeErrorOf, textOf, typeName, type Value } from './values.ts'

/** A whole number that JavaScript writes without an exponent is an int. */
const LARGEST = 1e21

export function fromJson(value: unknown): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < LARGEST ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(fromJson)
  if (typeof value !== 'object') return value as string | boolean
  const raw = rawNumber(value)
  if (raw !== undefined) return /^-?\d+$/.test(raw) ? BigInt(raw) : Number(raw)
  const dict = new Dict()
  for (const [key, one] of Object.entries(value)) if (one !== undefined) dict.set(key, fromJson(one))
  return dict
}

function rawNumber(value: object): string | undefined {
  const json = JSON as unknown as { isRawJSON(value: unknown): value is { rawJSON: string } }
  return json.isRawJSON(value) ? value.rawJSON : undefined
}

interface DumpOptions {
  ensureAscii: boolean
  indent: string | undefined
  separators: readonly [string, string]
  sortKeys: boolean
}

/** As Python's `json.dumps`. */
export function dump(value: Value, options: DumpOptions, budget: Budget): string {
  const { ensureAscii, indent, separators, sortKeys } = options
  const parts: string[] = []
  const put = (text: string): void => {
    budget.writes(text.length)
    parts.push(text)
  }
  const line = (depth: number): string => (indent === undefined ? '' : `\n${indent.repeat(depth)}`)
  const many = (
    [open, close]: readonly [string, string],
    { size, write, depth }: { size: number; write(i: number): void; depth: number },
  ): void => {
    put(open)
    for (let i = 0; i < size; i++) {
      put((i > 0 ? separators[0] : '') + line(depth + 1))
      write(i)
    }
    put((size > 0 ? line(depth) : '') + close)
  }
  const walk = (one: Value, depth: number): void =>
    budget.nested(() => {
      const text = textOf(one)
      if (text !== undefined) {
        budget.reads(text)
        put(quoted(text, ensureAscii))
      } else if (Array.isArray(one) || one instanceof Tuple) {
        const items = Array.isArray(one) ? one : one.items
        many(['[', ']'], { size: items.length, write: (i) => walk(items[i]!, depth + 1), depth })
      } else if (one instanceof Dict) {
        budget.makes(one.size)
        const entries = [...one.entries()].map(([key, each]) => [keyText(key), key, each] as const)
        if (sortKeys) entries.sort(([a], [b]) => compareTexts(a, b))
        const write = (i: number): void => {
          put(quoted(entries[i]![0], ensureAscii) + separators[1])
          walk(entries[i]![2], depth + 1)
        }
        many(['{', '}'], { size: entries.length, write, depth })
      } else put(atom(one))
    })
  walk(value, 0)
  return parts.join('')
}

function atom(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') throw new TypeErrorOf(`${typeName(value)} is not JSON serializable`)
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? floatText(value) : value > 0 ? 'Infinity' : '-Infinity'
}

function keyText(key: Value): string {
  const text = textOf(key)
  if (text !== undefined) return text
  if (key instanceof Tuple) throw new TypeErrorOf('a key of JSON cannot be a tuple')
  return atom(key)
}

const SHORT: Record<string, string> = {
  ...{ '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f', '\b': '\\b' },
}

function quoted(text: string, ensureAscii: boolean): string {
  const escaped = text.replace(ensureAscii ? /["\\]|[^ -~]/g : /["\\\x00-\x1f]/g, (one) => {
    return SHORT[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return `"${escaped}"`
}
