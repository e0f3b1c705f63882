// `x.name`, `x[key]` and slices.

import type { Budget } from './budget.ts'
import { dictMethod, listMethod } from './built-in/methods.ts'
import { textMethod } from './built-in/text-methods.ts'
import { formatBraces } from './format.ts'
import { characters } from './text.ts'
import {
  Callable,
  Dict,
  isNumber,
  Loop,
  Namespace,
  Range,
  Tuple,
  TypeErrorOf,
  textOf,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

/** `x.name`: Python's own attributes come before the keys of a dict. */
export function attribute(of: Value, name: string, budget: Budget): Value {
  const found = own(of, name, budget)
  if (found !== undefined) return found
  const value = keyed(of, name)
  return value === undefined ? missing(of, name) : value
}

/** `x[key]`: keys come before attributes. */
export function item(of: Value, key: Value, budget: Budget): Value {
  if (of instanceof Undefined) throw new TypeErrorOf(of.reason)
  const name = textOf(key)
  let found = name === undefined ? at(of, key, budget) : keyed(of, name)
  if (found === undefined && name !== undefined) found = own(of, name, budget)
  return found === undefined ? missing(of, name ?? key) : found
}

function missing(of: Value, key: Value): Undefined {
  if (of instanceof Undefined) throw new TypeErrorOf(of.reason)
  const shown = typeof key === 'string' || typeof key === 'bigint' ? String(key).slice(0, 60) : typeName(key)
  return new Undefined(`'${typeName(of)} object' has no attribute '${shown}'`)
}

function keyed(of: Value, name: string): Value | undefined {
  return of instanceof Dict ? of.get(name) : undefined
}

function own(of: Value, name: string, budget: Budget): Value | undefined {
  if (of instanceof Namespace) return of.members.get(name)
  if (of instanceof Loop || of instanceof Callable) return of.member(name)
  // The sandbox hides them.
  if (name.startsWith('_')) return undefined
  const text = textOf(of)
  if (text !== undefined)
    return name === 'format' || name === 'format_map'
      ? formatMethod(text, name, budget)
      : textMethod(text, name, budget)
  if (of instanceof Dict) return dictMethod(of, name)
  if (of instanceof Tuple && of.names.includes(name)) return of.items[of.names.indexOf(name)]
  if (Array.isArray(of) || of instanceof Tuple) return listMethod(of, name, budget)
  return undefined
}

function formatMethod(self: string, name: string, budget: Budget): Callable {
  return new Callable(name, ({ positional, named }) => {
    const isMap = name === 'format_map'
    const map = isMap ? positional[0] : undefined
    if (isMap && !(map instanceof Dict)) throw new TypeErrorOf('format_map needs a dict')
    return formatBraces(self, {
      positional: isMap ? [] : positional,
      named: (key) => (map instanceof Dict ? map.get(key) : named.get(key)),
      member: (value, key, isItem) =>
        isItem ? item(value, /^\d+$/.test(key) ? BigInt(key) : key, budget) : attribute(value, key, budget),
      budget,
    })
  })
}

function at(of: Value, key: Value, budget: Budget): Value | undefined {
  if (of instanceof Dict) return of.get(key)
  if (!isNumber(key) || typeof key === 'number') return undefined
  const text = textOf(of)
  if (text !== undefined) budget.reads(text)
  if (of instanceof Range) {
    const index = BigInt(key) < 0n ? BigInt(key) + of.length : BigInt(key)
    return index >= 0n && index < of.length ? of.start + index * of.step : undefined
  }
  const items = text !== undefined ? characters(text) : itemsOf(of)
  return items?.at(Number(key))
}

const itemsOf = (of: Value): readonly Value[] | undefined =>
  Array.isArray(of) ? of : of instanceof Tuple ? of.items : undefined

/** `x[start:stop:step]`. */
export function slice(of: Value, parts: readonly (Value | undefined)[], budget: Budget): Value {
  const [start, stop, step] = parts.map((part) => {
    if (part === undefined || part === null) return undefined
    if (typeof part !== 'bigint' && typeof part !== 'boolean')
      throw new TypeErrorOf('slice indices must be integers or None')
    return Number(part)
  })
  if (of instanceof Undefined) throw new TypeErrorOf(of.reason)
  const text = textOf(of)
  const range =
    of instanceof Range
      ? Array.from({ length: bounded(of, budget) }, (_, i) => of.start + BigInt(i) * of.step)
      : undefined
  if (text !== undefined) budget.reads(text)
  const items = text !== undefined ? characters(text) : (range ?? itemsOf(of))
  if (!items) return new Undefined(`'${typeName(of)} object' cannot be sliced`)
  const cut = cutOf(items, { start, stop, step: step ?? 1 })
  budget.makes(cut.length)
  if (text !== undefined) return cut.join('')
  return of instanceof Tuple ? new Tuple(cut) : cut
}

function bounded(range: Range, budget: Budget): number {
  budget.makes(Number(range.length))
  return Number(range.length)
}

function cutOf<Item>(
  items: readonly Item[],
  { start, stop, step }: { start: number | undefined; stop: number | undefined; step: number },
): Item[] {
  if (step === 0) throw new TypeErrorOf('slice step cannot be zero')
  const { length } = items
  const place = (index: number, least: number, most: number): number =>
    Math.min(Math.max(index < 0 ? index + length : index, least), most)
  if (step === 1)
    return items.slice(place(start ?? 0, 0, length), Math.max(place(stop ?? length, 0, length), 0))
  const cut: Item[] = []
  if (step > 0) {
    const end = place(stop ?? length, 0, length)
    for (let i = place(start ?? 0, 0, length); i < end; i += step) cut.push(items[i]!)
  } else {
    const end = stop === undefined ? -1 : place(stop, -1, length - 1)
    for (let i = place(start ?? length - 1, -1, length - 1); i > end; i += step) cut.push(items[i]!)
  }
  return cut
}
