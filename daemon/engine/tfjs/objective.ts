// An objective (protocol/plugin/expression.ts) as TensorFlow.js operations, differentiable.
//
// What has no gradient is cut off the tape by writing its values into a new tensor: TensorFlow.js knows no detach,
// and refuses to differentiate through comparisons.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Expression } from '../../../protocol/plugin/expression.ts'
import type { Tensor, Tensorflow } from './backend.ts'

/** Each [rows, tokens]; so is every result. */
export type Columns = ReadonlyMap<string, Tensor>

export function lower(tf: Tensorflow, expression: Expression, columns: Columns): Tensor {
  const mask = columns.get('mask')
  if (!mask) throw new WaggleError('E_ENGINE', 'an objective needs a mask column')
  const shape = mask.shape as [number, number]
  const constant = (value: number): Tensor => tf.fill(shape, value)
  const known = new Map<string, Tensor>()

  const visit = (e: Expression): Tensor => {
    const key = JSON.stringify(e)
    const value = known.get(key) ?? build(e)
    known.set(key, value)
    return value
  }
  const build = (e: Expression): Tensor => {
    if (typeof e === 'number') return constant(e)
    if ('column' in e) {
      const value = columns.get(e.column)
      if (!value)
        throw new WaggleError('E_ENGINE', `the objective reads column "${e.column}", which the batch lacks`)
      return value
    }
    switch (e.op) {
      case 'where':
        return choose(tf, visit(e.of[0]), visit(e.of[1]), visit(e.of[2]))
      case 'add':
        return tf.add(visit(e.of[0]), visit(e.of[1]))
      case 'sub':
        return tf.sub(visit(e.of[0]), visit(e.of[1]))
      case 'mul':
        return tf.mul(visit(e.of[0]), visit(e.of[1]))
      case 'div':
        return tf.div(visit(e.of[0]), visit(e.of[1]))
      case 'min':
        return tf.minimum(visit(e.of[0]), visit(e.of[1]))
      case 'max':
        return tf.maximum(visit(e.of[0]), visit(e.of[1]))
      case 'less':
        return detach(tf, tf.less(visit(e.of[0]), visit(e.of[1])))
      case 'greater':
        return detach(tf, tf.greater(visit(e.of[0]), visit(e.of[1])))
      case 'neg':
        return tf.neg(visit(e.of))
      case 'exp':
        return tf.exp(visit(e.of))
      case 'log':
        return tf.log(visit(e.of))
      case 'sigmoid':
        return tf.sigmoid(visit(e.of))
      case 'abs':
        return tf.abs(visit(e.of))
      case 'detach':
        return detach(tf, visit(e.of))
      case 'not':
        return detach(tf, tf.equal(visit(e.of), 0))
      case 'rowSum':
        // A masked token's value may be anything, infinity included.
        return tf.tile(tf.sum(choose(tf, mask, visit(e.of), constant(0)), 1, true), [1, shape[1]])
      default:
        e satisfies never
        throw new WaggleError('E_ENGINE', `the objective uses an unknown operation: ${JSON.stringify(e)}`)
    }
  }
  return visit(expression)
}

/** Sum over the masked tokens. Values outside the mask never count, whatever they are. */
export function maskedSum(tf: Tensorflow, value: Tensor, mask: Tensor): Tensor {
  return tf.sum(choose(tf, mask, value, tf.zerosLike(mask)))
}

/** The values as floats in a tensor that the tape has never seen. */
function detach(tf: Tensorflow, x: Tensor): Tensor {
  return tf.tensor(new Float32Array(x.dataSync()), x.shape, 'float32')
}

/** Element by element; the branch not taken gets a zero gradient, not zero times whatever came back. */
function choose(tf: Tensorflow, condition: Tensor, then: Tensor, otherwise: Tensor): Tensor {
  const isTrue = tf.cast(detach(tf, tf.notEqual(condition, 0)), 'bool')
  const select = tf.customGrad((a, b, save) => {
    const keep = save as unknown as (tensors: Tensor[]) => void
    keep([isTrue])
    return {
      value: tf.where(isTrue, a as Tensor, b as Tensor),
      gradFunc: (dy: Tensor, saved: Tensor[]) => {
        const zero = tf.zerosLike(dy)
        return [tf.where(saved[0]!, dy, zero), tf.where(saved[0]!, zero, dy)]
      },
    }
  })
  return select(then, otherwise)
}
