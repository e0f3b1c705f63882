// `for`, with its variable `loop`.

import { evaluate } from './evaluate.ts'
import { isEqual } from './operators.ts'
import { Out, type Rendering } from './out.ts'
import { Scope } from './scope.ts'
import type { ForLoop } from './syntax/nodes.ts'
import {
  Callable,
  type Given,
  isTrue,
  Loop,
  listOf,
  Tuple,
  TypeErrorOf,
  Undefined,
  type Value,
} from './values.ts'

/** An iteration makes a scope and a variable `loop`. */
const ITERATION_STEPS = 10

/** What `loop.changed` was called with last. */
interface Changes {
  last: Value | undefined
}

interface LoopState {
  items: readonly Value[]
  i: number
  depth: number
  changes: Changes
}

export function runLoop(
  node: ForLoop,
  { scope, out, rendering }: { scope: Scope; out: Out; rendering: Rendering },
): void {
  runOver(evaluate(node.over, scope, rendering), 0)

  function runOver(over: Value, depth: number, into: Out = out): void {
    const items = chosen(listOf(over, rendering.budget))
    const changes: Changes = { last: undefined }
    const again = node.isRecursive ? repeated(depth) : undefined
    for (const i of items.keys()) {
      rendering.budget.step(ITERATION_STEPS)
      const inner = new Scope(scope)
      inner.set('loop', new Loop((name) => member(name, { items, i, depth, changes }), again))
      rendering.assign(node.target, items[i]!, inner)
      if (rendering.run(node.body, inner, into) === 'break') break
    }
    if (items.length === 0) rendering.run(node.otherwise, new Scope(scope), into)
  }

  function chosen(items: Value[]): Value[] {
    const { test } = node
    if (!test) return items
    return items.filter((one) => {
      const inner = new Scope(scope)
      rendering.assign(node.target, one, inner)
      return isTrue(evaluate(test, inner, rendering))
    })
  }

  function repeated(depth: number): (given: Given) => Value {
    return ({ positional }) => {
      const inner = new Out(rendering.budget)
      runOver(positional[0] ?? new Undefined('loop() needs an argument'), depth + 1, inner)
      return inner.text()
    }
  }

  function member(name: string, { items, i, depth, changes }: LoopState): Value | undefined {
    const { length } = items
    switch (name) {
      case 'index':
        return BigInt(i + 1)
      case 'index0':
        return BigInt(i)
      case 'revindex':
        return BigInt(length - i)
      case 'revindex0':
        return BigInt(length - i - 1)
      case 'length':
        return BigInt(length)
      case 'depth':
        return BigInt(depth + 1)
      case 'depth0':
        return BigInt(depth)
      case 'first':
        return i === 0
      case 'last':
        return i === length - 1
      case 'previtem':
        return i > 0 ? items[i - 1]! : new Undefined('there is no previous item')
      case 'nextitem':
        return i < length - 1 ? items[i + 1]! : new Undefined('there is no next item')
      case 'cycle':
        return new Callable(name, ({ positional }) => {
          if (positional.length === 0) throw new TypeErrorOf('no items for cycling given')
          return positional[i % positional.length]!
        })
      case 'changed':
        return new Callable(name, ({ positional }) => {
          const now = new Tuple(positional)
          const isSame = changes.last !== undefined && isEqual(changes.last, now, rendering.budget)
          changes.last = now
          return !isSame
        })
      default:
        return undefined
    }
  }
}
