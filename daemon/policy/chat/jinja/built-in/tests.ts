// Tests, as in `x is defined`.

import type { Test } from '../engine.ts'
import { binary, compare, contains, isEqual } from '../operators.ts'
import { show } from '../show.ts'
import {
  Callable,
  Dict,
  DictView,
  Generator,
  Loop,
  Markup,
  Range,
  Tuple,
  TypeErrorOf,
  textOf,
  Undefined,
  type Value,
} from '../values.ts'
import { bind, intIn } from './arguments.ts'
import { textMethod } from './text-methods.ts'

const plain =
  (is: (value: Value) => boolean): Test =>
  (value, given, _, name) => {
    bind(name, [], given)
    return is(value)
  }

const withOne =
  (is: (value: Value, other: Value, engine: Parameters<Test>[2]) => boolean): Test =>
  (value, given, engine, name) => {
    const [other] = bind(name, ['other'], given)
    if (other === undefined) throw new TypeErrorOf(`the test ${name} needs an argument`)
    return is(value, other, engine)
  }

const comparing = (operator: string): Test =>
  withOne((value, other, { budget }) => compare(operator, value, other, budget))

const modulo =
  (rest: bigint, by?: bigint): Test =>
  (value, given, { budget }, name) => {
    const [divisor] = bind(name, by === undefined ? ['num'] : [], given)
    return isEqual(binary('%', value, by ?? BigInt(intIn(name, divisor)), budget), rest, budget)
  }

const cased =
  (method: 'islower' | 'isupper'): Test =>
  (value, given, { budget }, name) => {
    bind(name, [], given)
    const call = textMethod(show(value, budget), method, budget) as Callable
    return call.call({ positional: [], named: new Map() }) === true
  }

const named =
  (kind: 'hasFilter' | 'hasTest'): Test =>
  (value, given, engine, name) => {
    bind(name, [], given)
    return typeof value === 'string' && engine[kind](value)
  }

/** In Python, an undefined value has the methods of a sequence. */
const isSequence = (value: Value): boolean =>
  textOf(value) !== undefined ||
  [Array.isArray(value), value instanceof Tuple, value instanceof Dict, value instanceof Range].includes(
    true,
  ) ||
  value instanceof Undefined

export const TESTS: Record<string, Test> = {
  boolean: plain((value) => typeof value === 'boolean'),
  callable: plain(
    (value) =>
      value instanceof Callable ||
      value instanceof Undefined ||
      (value instanceof Loop && value.call !== undefined),
  ),
  defined: plain((value) => !(value instanceof Undefined)),
  divisibleby: modulo(0n),
  escaped: plain((value) => value instanceof Markup),
  even: modulo(0n, 2n),
  false: plain((value) => value === false),
  filter: named('hasFilter'),
  float: plain((value) => typeof value === 'number'),
  in: withOne((value, other, { budget }) => contains(other, value, budget)),
  integer: plain((value) => typeof value === 'bigint'),
  iterable: plain(
    (value) =>
      isSequence(value) || value instanceof DictView || value instanceof Generator || value instanceof Loop,
  ),
  lower: cased('islower'),
  mapping: plain((value) => value instanceof Dict),
  none: plain((value) => value === null),
  number: plain((value) => ['bigint', 'number', 'boolean'].includes(typeof value)),
  odd: modulo(1n, 2n),
  sameas: withOne((value, other) => value === other),
  sequence: plain(isSequence),
  string: plain((value) => textOf(value) !== undefined),
  test: named('hasTest'),
  true: plain((value) => value === true),
  undefined: plain((value) => value instanceof Undefined),
  upper: cased('isupper'),
  ...Object.fromEntries(
    Object.entries({
      '==': ['==', 'eq', 'equalto'],
      '!=': ['!=', 'ne'],
      '<': ['<', 'lt', 'lessthan'],
      '<=': ['<=', 'le'],
      '>': ['>', 'gt', 'greaterthan'],
      '>=': ['>=', 'ge'],
    }).flatMap(([operator, names]) => names.map((name) => [name, comparing(operator)])),
  ),
}
