// Lowers an objective (protocol/plugin/expression.ts) into a graph: the same formulas, differentiable.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Expression } from '../../../protocol/plugin/expression.ts'
import type { Value } from './graph.ts'
import * as ops from './ops.ts'

export type Columns = ReadonlyMap<string, Value>

/** Every column is [rows, tokens]; so is the result. Equal sub-expressions become one node. */
export function lower(expression: Expression, columns: Columns): Value {
  const known = new Map<string, Value>()
  const mask = columns.get('mask')
  if (!mask) throw new WaggleError('E_ENGINE', 'an objective needs a mask column')
  const { graph } = mask

  const visit = (e: Expression): Value => {
    const key = JSON.stringify(e)
    const done = known.get(key)
    if (done) return done
    const value = build(e)
    known.set(key, value)
    return value
  }
  const build = (e: Expression): Value => {
    if (typeof e === 'number') return graph.scalar(e)
    if ('column' in e) {
      const value = columns.get(e.column)
      if (!value)
        throw new WaggleError('E_ENGINE', `the objective reads column "${e.column}", which the batch lacks`)
      return value
    }
    switch (e.op) {
      case 'where': {
        const [condition, then, otherwise] = e.of.map(visit) as [Value, Value, Value]
        return ops.where(condition, then, otherwise)
      }
      case 'add':
        return ops.add(visit(e.of[0]), visit(e.of[1]))
      case 'sub':
        return ops.sub(visit(e.of[0]), visit(e.of[1]))
      case 'mul':
        return ops.mul(visit(e.of[0]), visit(e.of[1]))
      case 'div':
        return ops.div(visit(e.of[0]), visit(e.of[1]))
      case 'min':
        return ops.min(visit(e.of[0]), visit(e.of[1]))
      case 'max':
        return ops.max(visit(e.of[0]), visit(e.of[1]))
      case 'less':
        return ops.less(visit(e.of[0]), visit(e.of[1]))
      case 'greater':
        return ops.less(visit(e.of[1]), visit(e.of[0]))
      case 'neg':
        return ops.neg(visit(e.of))
      case 'exp':
        return ops.exp(visit(e.of))
      case 'log':
        return ops.log(visit(e.of))
      case 'sigmoid':
        return ops.sigmoid(visit(e.of))
      case 'abs':
        return ops.abs(visit(e.of))
      case 'detach':
        return ops.detach(visit(e.of))
      case 'not':
        return ops.where(visit(e.of), graph.scalar(0), graph.scalar(1))
      case 'rowSum':
        // where, not a product: a masked token's value may be anything, infinity included.
        return ops.reduceSum(ops.where(mask, broadcast(visit(e.of), mask), graph.scalar(0)), [1], true)
      default:
        e satisfies never
        throw new WaggleError('E_ENGINE', `the objective uses an unknown operation: ${JSON.stringify(e)}`)
    }
  }
  return broadcast(visit(expression), mask)
}

function broadcast(value: Value, mask: Value): Value {
  return ops.expand(value, mask.shape)
}

/** Sum of an expression over the masked tokens. Values outside the mask never count, whatever they are. */
export function maskedSum(value: Value, mask: Value): Value {
  return ops.sum(ops.where(mask, value, mask.graph.scalar(0)))
}
