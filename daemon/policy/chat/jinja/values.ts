// Python's values. A string, a boolean and None (null) are JavaScript's own; an int is a bigint, a float is a number,
// and a list is an array. The others are the classes of this file.

import type { Budget } from './budget.ts'
import { characters } from './text.ts'

export type Value =
  | string
  | bigint
  | number
  | boolean
  | null
  | Value[]
  | Tuple
  | Dict
  | DictView
  | Range
  | Undefined
  | Markup
  | Namespace
  | Generator
  | Callable
  | Loop

export class Tuple {
  readonly items: readonly Value[]
  /** Names of the items, if they have any. */
  readonly names: readonly string[]
  constructor(items: readonly Value[], names: readonly string[] = []) {
    this.items = items
    this.names = names
  }
}

/** Keys that are equal in Python, such as 1 and 1.0, are one key. */
export class Dict {
  readonly #entries = new Map<unknown, readonly [Value, Value]>()

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) this.set(key, value)
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(hashOf(key))?.[1]
  }

  has(key: Value): boolean {
    return this.#entries.has(hashOf(key))
  }

  set(key: Value, value: Value): void {
    const hash = hashOf(key)
    this.#entries.set(hash, [this.#entries.get(hash)?.[0] ?? key, value])
  }

  entries(): Iterable<readonly [Value, Value]> {
    return this.#entries.values()
  }
}

function hashOf(key: Value): unknown {
  if (key instanceof Markup) return key.text
  if (typeof key === 'boolean') return key ? 1n : 0n
  if (typeof key === 'number') return Number.isInteger(key) ? BigInt(key) : key
  if (key instanceof Tuple) return hashOfTuple(key)
  if (Array.isArray(key) || key instanceof Dict || key instanceof DictView)
    throw new TypeErrorOf(`unhashable type: '${typeName(key)}'`)
  return key
}

/** Bounded, because a tuple that holds itself twice at each level has no end. */
function hashOfTuple({ items }: Tuple): string {
  if (items.length > 64 || items.some((one) => one instanceof Tuple))
    throw new TypeErrorOf('a key that is a tuple of tuples, or of more than 64 items')
  return JSON.stringify(items.map((one) => [typeof one, String(hashOf(one))]))
}

export class DictView {
  readonly kind: 'keys' | 'values' | 'items'
  readonly dict: Dict
  constructor(kind: 'keys' | 'values' | 'items', dict: Dict) {
    this.kind = kind
    this.dict = dict
  }

  *[Symbol.iterator](): Iterator<Value> {
    for (const [key, value] of this.dict.entries())
      yield this.kind === 'keys' ? key : this.kind === 'values' ? value : new Tuple([key, value])
  }
}

export class Range {
  readonly start: bigint
  readonly stop: bigint
  readonly step: bigint
  constructor(start: bigint, stop: bigint, step: bigint) {
    this.start = start
    this.stop = stop
    this.step = step
  }

  get length(): bigint {
    const { start, stop, step } = this
    const length = step > 0n ? (stop - start + step - 1n) / step : (start - stop - step - 1n) / -step
    return length > 0n ? length : 0n
  }
}

/** What a name or a member that does not exist is. It counts as empty text; nothing can be done with it. */
export class Undefined {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

/** Text that is safe as HTML, which plain text becomes when it is added to it. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export class Namespace {
  readonly members: Dict
  constructor(members: Dict) {
    this.members = members
  }
}

/** What `map`, `select` and the like return: it can be read once, and has no length. */
export class Generator {
  readonly items: Iterator<Value>
  constructor(items: Iterator<Value>) {
    this.items = items
  }
}

export interface Given {
  positional: Value[]
  named: Map<string, Value>
}

export class Callable {
  readonly name: string
  readonly call: (given: Given) => Value
  readonly member: (name: string) => Value | undefined
  constructor(
    name: string,
    call: (given: Given) => Value,
    member: (name: string) => Value | undefined = () => undefined,
  ) {
    this.name = name
    this.call = call
    this.member = member
  }
}

/** The variable `loop`. */
export class Loop {
  readonly member: (name: string) => Value | undefined
  readonly call: ((given: Given) => Value) | undefined
  constructor(member: (name: string) => Value | undefined, call: ((given: Given) => Value) | undefined) {
    this.member = member
    this.call = call
  }
}

/** Python's TypeError, ValueError and the like: the message says enough. */
export class TypeErrorOf extends Error {}

export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  if (Array.isArray(value)) return 'list'
  if (value instanceof DictView) return `dict_${value.kind}`
  const known: Record<string, string> = { string: 'str', bigint: 'int', number: 'float', boolean: 'bool' }
  return known[typeof value] ?? (value as object).constructor.name.toLowerCase()
}

export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Tuple) return value.items.length > 0
  if (value instanceof Dict) return value.size > 0
  if (value instanceof DictView) return value.dict.size > 0
  if (value instanceof Range) return value.length > 0n
  if (value instanceof Markup) return value.text !== ''
  if (value instanceof Undefined) return false
  // In Python, NaN is true.
  return Boolean(value) || Number.isNaN(value)
}

/** The items of whatever a loop accepts. Throws for anything else. */
export function* iterate(value: Value, budget: Budget): Generator_ {
  if (typeof value === 'string' || value instanceof Markup) {
    const text = textOf(value)!
    budget.reads(text)
    yield* characters(text)
  } else if (Array.isArray(value)) yield* value
  else if (value instanceof Tuple) yield* value.items
  else if (value instanceof Dict) for (const [key] of value.entries()) yield key
  else if (value instanceof DictView) yield* value
  else if (value instanceof Range) for (let i = 0n; i < value.length; i++) yield value.start + i * value.step
  else if (value instanceof Generator) {
    for (let next = value.items.next(); !next.done; next = value.items.next()) yield next.value
  } else if (!(value instanceof Undefined))
    throw new TypeErrorOf(`'${typeName(value)}' object is not iterable`)
}

type Generator_ = globalThis.Generator<Value, void, undefined>

export function listOf(value: Value, budget: Budget): Value[] {
  const list: Value[] = []
  for (const item of iterate(value, budget)) {
    budget.makes(1)
    list.push(item)
  }
  return list
}

export function sizeOf(value: Value): number | bigint | undefined {
  if (Array.isArray(value)) return value.length
  if (value instanceof Tuple) return value.items.length
  if (value instanceof Dict) return value.size
  if (value instanceof DictView) return value.dict.size
  if (value instanceof Range) return value.length
  return value instanceof Undefined ? 0 : undefined
}

/** Plain text or HTML-safe text; undefined for anything else. */
export function textOf(value: Value | undefined): string | undefined {
  if (typeof value === 'string') return value
  return value instanceof Markup ? value.text : undefined
}

export const isNumber = (value: Value): value is number | bigint | boolean =>
  typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
