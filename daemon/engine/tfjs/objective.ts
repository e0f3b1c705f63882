// Lowers an objective (protocol/plugin/expression/expression.ts) to TensorFlow.js operations, differentiable.
//
// TensorFlow.js has no detach and refuses to differentiate through comparisons. So values without a gradient are copied
// into new tensors, which the tape does not know.

import { WaggleError } from '../../../protocol/errors.ts'
import { type Expression, fold, fromTable } from '../../../protocol/plugin/expression/expression.ts'
import type { Tensor, Tensorflow } from './backend.ts'

/** Each column is [rows, tokens], and so is every result. */
export type Columns = ReadonlyMap<string, Tensor>

export function lower(tf: Tensorflow, expression: Expression, columns: Columns): Tensor {
  const mask = columns.get('mask')
  if (!mask) throw new WaggleError('E_ENGINE', 'an objective needs a mask column')
  const shape = mask.shape as [number, number]
  const constant = (value: number): Tensor => tf.fill(shape, value)
  return fold<Tensor>(expression, {
    number: constant,
    column(name) {
      const value = columns.get(name)
      if (value) return value
      throw new WaggleError('E_ENGINE', `the objective reads column "${name}", which the batch lacks`)
    },
    operation: fromTable<Tensor>({
      neg: (of) => tf.neg(of),
      exp: (of) => tf.exp(of),
      log: (of) => tf.log(of),
      sigmoid: (of) => tf.sigmoid(of),
      abs: (of) => tf.abs(of),
      detach: (of) => detach(tf, of),
      not: (of) => detach(tf, tf.equal(of, 0)),
      // Not a product, because the value of a masked token may be anything, including infinity.
      rowSum: (of) => tf.tile(tf.sum(choose(tf, mask, of, constant(0)), 1, true), [1, shape[1]]),
      add: (a, b) => tf.add(a, b),
      sub: (a, b) => tf.sub(a, b),
      mul: (a, b) => tf.mul(a, b),
      div: (a, b) => tf.div(a, b),
      min: (a, b) => tf.minimum(a, b),
      max: (a, b) => tf.maximum(a, b),
      less: (a, b) => detach(tf, tf.less(a, b)),
      greater: (a, b) => detach(tf, tf.greater(a, b)),
      where: (condition, then, otherwise) => choose(tf, condition, then, otherwise),
    }),
  })
}

/** Sum over the masked tokens. Values outside the mask never count, even if they are not finite. */
export function maskedSum(tf: Tensorflow, value: Tensor, mask: Tensor): Tensor {
  return tf.sum(choose(tf, mask, value, tf.zerosLike(mask)))
}

/** The values as floats in a tensor that the tape does not know. */
export function detach(tf: Tensorflow, x: Tensor): Tensor {
  return tf.tensor(new Float32Array(x.dataSync()), x.shape, 'float32')
}

/** Elementwise selection. The branch not taken gets a gradient of zero, even if the incoming gradient is not finite. */
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
