// Methods of lists, tuples and dicts. The sandbox of chat templates allows none that change them.

import type { Budget } from '../budget.ts'
import { isEqual } from '../operators.ts'
import { Callable, Dict, DictView, type Given, type Tuple, TypeErrorOf, type Value } from '../values.ts'
import { bind, intIn } from './arguments.ts'

function unsafe(type: string, name: string): Callable {
  return new Callable(name, () => {
    throw new TypeErrorOf(`${type}.${name} would change a value, which templates may not do`)
  })
}

const CHANGE_LISTS = ['append', 'extend', 'insert', 'pop', 'remove', 'clear', 'sort', 'reverse']
const CHANGE_DICTS = ['clear', 'pop', 'popitem', 'setdefault', 'update']

export function listMethod(list: Value[] | Tuple, name: string, budget: Budget): Value | undefined {
  const items = Array.isArray(list) ? list : list.items
  if (Array.isArray(list) && CHANGE_LISTS.includes(name)) return unsafe('list', name)
  switch (name) {
    case 'copy':
      if (!Array.isArray(list)) return undefined
      return new Callable(name, () => {
        budget.makes(list.length)
        return [...list]
      })
    case 'count':
      return new Callable(name, (given) => {
        const [one] = required(name, ['value'], given)
        return BigInt(items.filter((item) => isEqual(item, one!, budget)).length)
      })
    case 'index':
      return new Callable(name, (given) => {
        const [one, from] = bind(name, ['value', 'start'], given)
        if (one === undefined) throw new TypeErrorOf('index needs a value')
        const start = intIn(name, from, 0)
        const at = items.findIndex((item, i) => i >= start && isEqual(item, one, budget))
        if (at < 0) throw new TypeErrorOf('the value is not in the list')
        return BigInt(at)
      })
    default:
      return undefined
  }
}

export function dictMethod(dict: Dict, name: string): Value | undefined {
  if (CHANGE_DICTS.includes(name)) return unsafe('dict', name)
  switch (name) {
    case 'keys':
    case 'values':
    case 'items':
      return new Callable(name, (given) => {
        bind(name, [], given)
        return new DictView(name, dict)
      })
    case 'get':
      return new Callable(name, (given) => {
        const [key, otherwise] = required(name, ['key', 'default'], given)
        const value = dict.get(key!)
        return value === undefined ? (otherwise ?? null) : value
      })
    case 'copy':
      return new Callable(name, () => new Dict(dict.entries()))
    default:
      return undefined
  }
}

function required(what: string, names: readonly string[], given: Given): (Value | undefined)[] {
  const values = bind(what, names, given)
  if (values[0] === undefined) throw new TypeErrorOf(`${what} needs an argument`)
  return values
}
