// Evaluates expressions.

import type { Engine } from './engine.ts'
import { attribute, item, slice } from './members.ts'
import { binary, compare, concat, negative } from './operators.ts'
import type { Scope } from './scope.ts'
import { show } from './show.ts'
import type { CallArguments, Expression, FilterCall } from './syntax/nodes.ts'
import {
  Callable,
  Dict,
  type Given,
  isNumber,
  isTrue,
  iterate,
  Loop,
  Tuple,
  TypeErrorOf,
  textOf,
  typeName,
  Undefined,
  type Value,
} from './values.ts'

export function evaluate(node: Expression, scope: Scope, engine: Engine): Value {
  const { budget } = engine
  budget.step()
  const of = (one: Expression): Value => evaluate(one, scope, engine)
  switch (node.kind) {
    case 'constant':
      return node.value
    case 'name':
      return scope.get(node.name)
    case 'list':
      budget.makes(node.items.length + 1)
      return node.items.map(of)
    case 'tuple':
      budget.makes(node.items.length + 1)
      return new Tuple(node.items.map(of))
    case 'dict':
      budget.makes(node.entries.length * 4 + 1)
      return new Dict(node.entries.map(([key, value]) => [of(key), of(value)]))
    case 'attribute':
      return attribute(of(node.of), node.name, budget)
    case 'item': {
      const { key } = node
      if (key.kind !== 'slice') return item(of(node.of), of(key), budget)
      return slice(
        of(node.of),
        key.parts.map((part) => part && of(part)),
        budget,
      )
    }
    case 'slice':
      throw new TypeErrorOf('a slice within a tuple')
    case 'call':
      return call(of(node.callee), argumentsOf(node.args, scope, engine), engine)
    case 'filter':
      return engine.filter(node.name, of(node.of), argumentsOf(node.args, scope, engine))
    case 'test':
      return engine.test(node.name, of(node.of), argumentsOf(node.args, scope, engine))
    case 'unary':
      return unary(node.operator, of(node.of))
    case 'binary': {
      const left = of(node.left)
      if (node.operator === 'and') return isTrue(left) ? of(node.right) : left
      if (node.operator === 'or') return isTrue(left) ? left : of(node.right)
      return binary(node.operator, left, of(node.right), budget)
    }
    case 'concat':
      return concat(
        node.items.map((one) => show(of(one), budget)),
        budget,
      )
    case 'compare': {
      let left = of(node.first)
      for (const [operator, next] of node.rest) {
        const right = of(next)
        if (!compare(operator, left, right, budget)) return false
        left = right
      }
      return true
    }
    case 'if':
      if (isTrue(of(node.test))) return of(node.value)
      return node.otherwise
        ? of(node.otherwise)
        : new Undefined('the inline if-expression evaluated to false and no else section was defined.')
  }
}

function unary(operator: '-' | '+' | 'not', value: Value): Value {
  if (operator === 'not') return !isTrue(value)
  if (operator === '-') return negative(value)
  if (value instanceof Undefined) throw new TypeErrorOf(value.reason)
  if (!isNumber(value)) throw new TypeErrorOf(`bad operand type for unary +: '${typeName(value)}'`)
  return typeof value === 'boolean' ? BigInt(value) : value
}

export function argumentsOf(
  { positional, named, list, dict }: CallArguments,
  scope: Scope,
  engine: Engine,
): Given {
  const of = (one: Expression): Value => evaluate(one, scope, engine)
  const given: Given = {
    positional: positional.map(of),
    named: new Map(named.map(([name, one]) => [name, of(one)])),
  }
  if (list) for (const one of iterate(of(list), engine.budget)) given.positional.push(one)
  if (!dict) return given
  const more = of(dict)
  if (!(more instanceof Dict)) throw new TypeErrorOf('an argument after ** must be a dict')
  for (const [key, value] of more.entries()) {
    const name = textOf(key)
    if (name === undefined) throw new TypeErrorOf('keywords must be strings')
    given.named.set(name, value)
  }
  return given
}

export function call(callee: Value, given: Given, { budget }: Engine): Value {
  if (callee instanceof Undefined) throw new TypeErrorOf(callee.reason)
  const run = callee instanceof Callable || callee instanceof Loop ? callee.call : undefined
  if (!run) throw new TypeErrorOf(`'${typeName(callee)}' object is not callable`)
  return budget.nested(() => run(given))
}

export function filtered(value: Value, filters: readonly FilterCall[], scope: Scope, engine: Engine): Value {
  return filters.reduce(
    (one, { name, args }) => engine.filter(name, one, argumentsOf(args, scope, engine)),
    value,
  )
}
