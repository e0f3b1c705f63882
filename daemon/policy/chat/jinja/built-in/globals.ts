// What templates find defined: Jinja's own functions, and the two that Hugging Face adds.

import type { Budget } from '../budget.ts'
import { show } from '../show.ts'
import {
  Callable,
  Dict,
  type Given,
  iterate,
  listOf,
  Namespace,
  Range,
  TypeErrorOf,
  type Value,
} from '../values.ts'
import { bind, intIn, textIn } from './arguments.ts'
import { formatDate } from './strftime.ts'

export function globalsOf(budget: Budget): Map<string, Value> {
  const functions: Record<string, (given: Given) => Value> = {
    raise_exception: (given) => {
      throw new Error(show(bind('raise_exception', ['message'], given)[0] ?? '', budget))
    },
    strftime_now: (given) => formatDate(textIn('strftime_now', bind('strftime_now', ['format'], given)[0])),
    range: rangeOf,
    dict: (given) => dictOf(given, budget),
    namespace: (given) => new Namespace(dictOf(given, budget)),
    cycler: ({ positional }) => cyclerOf(positional),
    joiner: (given) => joinerOf(textIn('joiner', bind('joiner', ['sep'], given)[0], ', ')),
  }
  return new Map(Object.entries(functions).map(([name, call]) => [name, new Callable(name, call)]))
}

function rangeOf({ positional, named }: Given): Range {
  if (named.size > 0 || positional.length < 1 || positional.length > 3)
    throw new TypeErrorOf('range takes one to three numbers')
  const numbers = positional.map((one) => BigInt(intIn('range', one)))
  const [start, stop, step = 1n] =
    numbers.length === 1 ? [0n, numbers[0]!] : [numbers[0]!, numbers[1]!, numbers[2]]
  if (step === 0n) throw new TypeErrorOf('range() arg 3 must not be zero')
  const range = new Range(start, stop, step)
  // The sandbox's own limit.
  if (range.length > 100_000n) throw new TypeErrorOf(`range of ${range.length} values`)
  return range
}

function dictOf({ positional, named }: Given, budget: Budget): Dict {
  const [given] = bind('dict', ['entries'], { positional, named: new Map() })
  const dict = new Dict()
  const set = (key: Value, value: Value): void => {
    budget.makes(4)
    dict.set(key, value)
  }
  if (given instanceof Dict) for (const [key, value] of given.entries()) set(key, value)
  else if (given !== undefined)
    for (const pair of iterate(given, budget)) {
      const [key, value, ...rest] = listOf(pair, budget)
      if (key === undefined || value === undefined || rest.length > 0)
        throw new TypeErrorOf('dict needs pairs of key and value')
      set(key, value)
    }
  for (const [key, value] of named) set(key, value)
  return dict
}

function cyclerOf(items: readonly Value[]): Value {
  if (items.length === 0) throw new TypeErrorOf('at least one item has to be provided')
  let at = 0
  const next = (): Value => items[at++ % items.length]!
  return new Callable('cycler', next, (name) => {
    if (name === 'current') return items[at % items.length]!
    if (name === 'next') return new Callable(name, next)
    if (name !== 'reset') return undefined
    return new Callable(name, () => {
      at = 0
      return null
    })
  })
}

function joinerOf(separator: string): Value {
  let isUsed = false
  return new Callable('joiner', () => {
    if (isUsed) return separator
    isUsed = true
    return ''
  })
}
