// Filters of lists. Those that return a generator in Python return one here.

import type { Budget } from '../budget.ts'
import type { Engine, Filter } from '../engine.ts'
import { item } from '../members.ts'
import { binary, isEqual, order } from '../operators.ts'
import { show } from '../show.ts'
import { characters } from '../text.ts'
import {
  Dict,
  Generator,
  type Given,
  isTrue,
  iterate,
  listOf,
  Tuple,
  TypeErrorOf,
  textOf,
  typeName,
  Undefined,
  type Value,
} from '../values.ts'
import { bind, intIn, textIn } from './arguments.ts'

type Pick = (value: Value) => Value

/** Reads a member by a path such as `function.name`, where digits are places in lists. */
function attributeOf(path: Value, budget: Budget, otherwise?: Value): Pick {
  const parts = (textOf(path) ?? [path]) as string | Value[]
  const keys =
    typeof parts === 'string'
      ? parts.split('.').map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
      : parts
  return (value) => {
    let found = value
    for (const key of keys) {
      found = item(found, key, budget)
      if (found instanceof Undefined && otherwise !== undefined) found = otherwise
    }
    return found
  }
}

const ignoreCase: Pick = (value) => textOf(value)?.toLowerCase() ?? value

/** What lists are sorted and compared by: a member if one is named, in lower case unless told otherwise. */
function keyBy(
  attribute: Value | undefined,
  isCaseSensitive: Value | undefined,
  { budget }: Engine,
  otherwise?: Value,
): Pick {
  const member =
    attribute === undefined || attribute === null ? undefined : attributeOf(attribute, budget, otherwise)
  return (value) => {
    const found = member ? member(value) : value
    return isTrue(isCaseSensitive ?? false) ? found : ignoreCase(found)
  }
}

/** A stable sort, with one step for each comparison. */
function sorted(items: readonly Value[], key: Pick, isReverse: boolean, budget: Budget): Value[] {
  budget.makes(items.length * 2)
  const keyed = items.map((value) => [key(value), value] as const)
  const sign = isReverse ? -1 : 1
  return keyed.sort(([a], [b]) => sign * (order(a, b, '<', budget) || 0)).map(([, value]) => value)
}

const sort: Filter = (value, given, engine, name) => {
  const [isReverse, sensitive, attribute] = bind(name, ['reverse', 'case_sensitive', 'attribute'], given)
  const paths = textOf(attribute)?.split(',')
  const keys = paths
    ? paths.map((path) => keyBy(path, sensitive, engine))
    : [keyBy(attribute, sensitive, engine)]
  const key: Pick = keys.length === 1 ? keys[0]! : (one) => new Tuple(keys.map((each) => each(one)))
  return sorted(listOf(value, engine.budget), key, isTrue(isReverse ?? false), engine.budget)
}

const dictSort: Filter = (value, given, { budget }, name) => {
  const [sensitive, by = 'key', isReverse] = bind(name, ['case_sensitive', 'by', 'reverse'], given)
  if (by !== 'key' && by !== 'value') throw new TypeErrorOf('dictsort sorts by "key" or "value"')
  if (!(value instanceof Dict)) throw new TypeErrorOf(`dictsort needs a dict, not ${typeName(value)}`)
  budget.makes(value.size)
  const pairs = [...value.entries()].map((pair) => new Tuple(pair))
  const key: Pick = (pair) => {
    const one = (pair as Tuple).items[by === 'key' ? 0 : 1]!
    return isTrue(sensitive ?? false) ? one : ignoreCase(one)
  }
  return sorted(pairs, key, isTrue(isReverse ?? false), budget)
}

const unique: Filter = (value, given, engine, name) => {
  const [sensitive, attribute] = bind(name, ['case_sensitive', 'attribute'], given)
  const key = keyBy(attribute, sensitive, engine)
  return lazily(function* () {
    const seen = new Dict()
    for (const one of iterate(value, engine.budget)) {
      engine.budget.makes(2)
      const each = key(one)
      if (seen.has(each)) continue
      seen.set(each, true)
      yield one
    }
  })
}

const extreme =
  (sign: 1 | -1): Filter =>
  (value, given, engine, name) => {
    const [sensitive, attribute] = bind(name, ['case_sensitive', 'attribute'], given)
    const key = keyBy(attribute, sensitive, engine)
    const items = listOf(value, engine.budget)
    if (items.length === 0) return new Undefined('No aggregated item, sequence was empty.')
    return items.reduce((best, one) =>
      sign * order(key(one), key(best), '<', engine.budget) < 0 ? one : best,
    )
  }

const groupBy: Filter = (value, given, engine, name) => {
  const [attribute, otherwise, sensitive] = bind(name, ['attribute', 'default', 'case_sensitive'], given)
  const { budget } = engine
  const exact = keyBy(attribute, true, engine, otherwise)
  const key = keyBy(attribute, sensitive, engine, otherwise)
  const groups: { key: Value; shown: Value; items: Value[] }[] = []
  for (const one of sorted(listOf(value, budget), key, false, budget)) {
    const own = key(one)
    if (groups.length > 0 && isEqual(groups.at(-1)!.key, own, budget)) groups.at(-1)!.items.push(one)
    else groups.push({ key: own, shown: exact(one), items: [one] })
  }
  return groups.map(({ shown, items }) => new Tuple([shown, items], ['grouper', 'list']))
}

const sum: Filter = (value, given, { budget }, name) => {
  const [attribute, start = 0n] = bind(name, ['attribute', 'start'], given)
  const key: Pick =
    attribute === undefined || attribute === null ? (one) => one : attributeOf(attribute, budget)
  let total = start
  for (const one of iterate(value, budget)) total = binary('+', total, key(one), budget)
  return total
}

const join: Filter = (value, given, { budget }, name) => {
  const [d = '', attribute] = bind(name, ['d', 'attribute'], given)
  const key: Pick =
    attribute === undefined || attribute === null ? (one) => one : attributeOf(attribute, budget)
  const mark = show(d, budget)
  const texts = listOf(value, budget).map((one) => {
    const text = show(key(one), budget)
    budget.writes(text.length + mark.length)
    return text
  })
  return texts.join(mark)
}

const map: Filter = (value, { positional, named }, engine) => {
  const pick = mapping({ positional, named }, engine)
  return lazily(function* () {
    if (!isTrue(value)) return
    for (const one of iterate(value, engine.budget)) {
      engine.budget.step()
      yield pick(one)
    }
  })
}

function mapping({ positional, named }: Given, engine: Engine): Pick {
  const attribute = named.get('attribute')
  if (positional.length === 0 && attribute !== undefined) {
    const [, otherwise] = bind('map', ['attribute', 'default'], { positional, named })
    return attributeOf(attribute, engine.budget, otherwise)
  }
  const [filter, ...rest] = positional
  const name = textIn('map', filter)
  return (one) => engine.filter(name, one, { positional: rest, named })
}

/** `select`, `reject` and, with a member to look at, `selectattr` and `rejectattr`. */
const selection =
  (isKept: boolean, byAttribute: boolean): Filter =>
  (value, { positional, named }, engine, name) => {
    const { budget } = engine
    if (byAttribute && positional.length === 0) throw new TypeErrorOf(`${name} needs the name of a member`)
    const look: Pick = byAttribute ? attributeOf(positional[0]!, budget) : (one) => one
    const [test, ...rest] = byAttribute ? positional.slice(1) : positional
    const is = (one: Value): boolean =>
      test === undefined ? isTrue(one) : engine.test(textIn(name, test), one, { positional: rest, named })
    return lazily(function* () {
      if (!isTrue(value)) return
      for (const one of iterate(value, budget)) {
        budget.step()
        if (is(look(one)) === isKept) yield one
      }
    })
  }

function lazily(make: () => Iterator<Value>): Generator {
  return new Generator(make())
}

const batch: Filter = (value, given, { budget }, name) => {
  const [count, fill = null] = bind(name, ['linecount', 'fill_with'], given)
  const size = intIn(name, count)
  return lazily(function* () {
    let row: Value[] = []
    for (const one of iterate(value, budget)) {
      if (row.length === size) {
        yield row
        row = []
      }
      budget.makes(1)
      row.push(one)
    }
    if (row.length === 0) return
    if (fill !== null && row.length < size) {
      budget.makes(size)
      row.push(...Array.from({ length: size - row.length }, () => fill))
    }
    yield row
  })
}

const slices: Filter = (value, given, { budget }, name) => {
  const [count, fill = null] = bind(name, ['slices', 'fill_with'], given)
  const parts = intIn(name, count)
  return lazily(function* () {
    const items = listOf(value, budget)
    if (parts < 1) throw new TypeErrorOf('slice into less than one part')
    budget.makes(parts)
    const [least, longer] = [Math.floor(items.length / parts), items.length % parts]
    for (let i = 0, at = 0; i < parts; i++) {
      const size = least + (i < longer ? 1 : 0)
      const part = items.slice(at, at + size)
      at += size
      if (fill !== null && i >= longer) part.push(fill)
      yield part
    }
  })
}

const reverse: Filter = (value, given, { budget }, name) => {
  bind(name, [], given)
  const text = textOf(value)
  if (text === undefined) {
    const items = listOf(value, budget).reverse()
    return lazily(() => items[Symbol.iterator]())
  }
  budget.reads(text)
  return characters(text).reverse().join('')
}

const first: Filter = (value, given, { budget }, name) => {
  bind(name, [], given)
  const next = iterate(value, budget).next()
  return next.done ? new Undefined('No first item, sequence was empty.') : next.value
}

const last: Filter = (value, given, { budget }, name) => {
  bind(name, [], given)
  if (value instanceof Generator) throw new TypeErrorOf("'generator' object is not reversible")
  const items = listOf(value, budget)
  return items.length > 0 ? items.at(-1)! : new Undefined('No last item, sequence was empty.')
}

export const LIST_FILTERS: Record<string, Filter> = {
  attr(value, given, { budget }, name) {
    const [key] = bind(name, ['name'], given)
    const text = textIn(name, key)
    return value instanceof Dict
      ? new Undefined(`'dict object' has no attribute '${text}'`)
      : item(value, text, budget)
  },
  batch,
  dictsort: dictSort,
  first,
  groupby: groupBy,
  items(value, given, _, name) {
    bind(name, [], given)
    if (value instanceof Undefined) return lazily(() => [][Symbol.iterator]())
    if (!(value instanceof Dict)) throw new TypeErrorOf('Can only get item pairs from a mapping.')
    const entries = value.entries()
    return lazily(function* () {
      for (const pair of entries) yield new Tuple(pair)
    })
  },
  join,
  last,
  list: (value, given, { budget }, name) => {
    bind(name, [], given)
    return listOf(value, budget)
  },
  map,
  max: extreme(-1),
  min: extreme(1),
  reject: selection(false, false),
  rejectattr: selection(false, true),
  reverse,
  select: selection(true, false),
  selectattr: selection(true, true),
  slice: slices,
  sort,
  sum,
  unique,
}
