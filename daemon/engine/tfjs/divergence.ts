// Reverse KL from a policy to its teacher over K + 1 categories. The formulas are those of
// ../onnx/decoder/divergence.ts; the gradient is by log-probs here, since TensorFlow.js goes on to the logits itself:
// dD / dlog p_v = p_v (x_c(v) + 1).

import { LEAST_REST } from '../top-tokens.ts'
import type { Tensor, Tensorflow } from './backend.ts'

/** What a teacher says about each cell of a table. */
export interface Teacher {
  cells: number
  /** K. */
  count: number
  /** [cells, K]. */
  tokens: Int32Array
  /** [cells, K + 1]: of these tokens, and of all others together. */
  logprobs: Float32Array
}

/** D of each cell, [cells], from log-probs [cells, V]. */
export function divergenceOf(
  tf: Tensorflow,
  logs: Tensor,
  { cells, count, tokens, logprobs }: Teacher,
): Tensor {
  const vocabulary = logs.shape[1]!
  const places = new Int32Array(2 * tokens.length)
  tokens.forEach((token, i) => {
    places[2 * i] = Math.floor(i / count)
    places[2 * i + 1] = token
  })
  const of = tf.customGrad((given, save) => {
    const own = given as Tensor
    const at = tf.tensor(places, [cells * count, 2], 'int32')
    const named = tf.reshape(tf.gatherND(own, at), [cells, count])
    const masses = tf.exp(named)
    const rest = tf.maximum(tf.sub(1, tf.sum(masses, 1, true)), LEAST_REST)
    const taught = tf.tensor(logprobs, [cells, count + 1])
    const gaps = tf.sub(tf.concat([named, tf.log(rest)], 1), taught)
    const [ofNamed, ofRest] = tf.split(gaps, [count, 1], 1) as [Tensor, Tensor]
    const extra = tf.scatterND(at, tf.reshape(tf.sub(ofNamed, ofRest), [cells * count]), [cells, vocabulary])
    ;(save as unknown as (tensors: Tensor[]) => void)([tf.mul(tf.exp(own), tf.add(tf.add(extra, ofRest), 1))])
    return {
      value: tf.sum(tf.mul(tf.concat([masses, rest], 1), gaps), 1),
      gradFunc: (dy: Tensor, saved: Tensor[]) => tf.mul(saved[0]!, tf.reshape(dy, [cells, 1])),
    }
  })
  return of(logs)
}
