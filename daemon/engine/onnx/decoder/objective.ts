// Lowers an objective (protocol/plugin/expression/expression.ts) to a graph that computes the same formulas and is
// differentiable.

import { WaggleError } from '../../../../protocol/errors.ts'
import { type Expression, fold, fromTable } from '../../../../protocol/plugin/expression/expression.ts'
import type { Value } from '../graph/graph.ts'
import * as ops from '../graph/ops.ts'

export type Columns = ReadonlyMap<string, Value>

/** All columns and the result are [rows, tokens]. Equal subexpressions become one node. */
export function lower(expression: Expression, columns: Columns): Value {
  const mask = columns.get('mask')
  if (!mask) throw new WaggleError('E_ENGINE', 'an objective needs a mask column')
  const { graph } = mask
  const { add, sub, mul, div, min, max, less, neg, exp, log, sigmoid, abs, detach, where } = ops
  const lowered = fold<Value>(expression, {
    number: (value) => graph.scalar(value),
    column(name) {
      const value = columns.get(name)
      if (value) return value
      throw new WaggleError('E_ENGINE', `the objective reads column "${name}", which the batch lacks`)
    },
    operation: fromTable({
      ...{ add, sub, mul, div, min, max, less, neg, exp, log, sigmoid, abs, detach, where },
      greater: (a, b) => less(b, a),
      not: (of) => where(of, graph.scalar(0), graph.scalar(1)),
      // `where` instead of a product, because the value of a masked token may be anything, including infinity.
      rowSum: (of) => ops.reduceSum(where(mask, broadcast(of, mask), graph.scalar(0)), [1], true),
    }),
  })
  return broadcast(lowered, mask)
}

function broadcast(value: Value, mask: Value): Value {
  return ops.expand(value, mask.shape)
}

/** Sum of an expression over the masked tokens. Values outside the mask never count, even if they are not finite. */
export function maskedSum(value: Value, mask: Value): Value {
  return ops.sum(ops.where(mask, value, mask.graph.scalar(0)))
}
