// Log-probs and entropies of a batch's completions: the forward pass of scoring and training.

import type { Tensor } from './backend.ts'
import type { Batch } from './batch.ts'
import { anglesOf, finalNorm, forward, gatherRows, logitsOf, MASKED, type Model } from './decoder.ts'

/** Log-probs and entropies under softmax(logits / temperature), [rows, width] each. */
export function statistics(
  model: Model,
  batch: Batch,
  temperature: number,
): { logprob: Tensor; entropy: Tensor } {
  return ofTargets(model, batch, logsOf(model, statesOf(model, batch), temperature))
}

/**
 * The same, the sums of squared probabilities over the vocabulary, and the states that it is all read from,
 * [rows * width, width of the model].
 */
export function scoreStatistics(
  model: Model,
  batch: Batch,
  temperature: number,
): { logprob: Tensor; entropy: Tensor; collision: Tensor; hidden: Tensor } {
  const { tf } = model
  const hidden = statesOf(model, batch)
  const logs = logsOf(model, hidden, temperature)
  const collision = tf.reshape(tf.sum(tf.exp(tf.mul(logs, 2)), 1), [batch.members.length, batch.width])
  return { ...ofTargets(model, batch, logs), collision, hidden }
}

/** log softmax(logits / temperature), [rows * width, vocabulary]. */
function logsOf(model: Model, states: Tensor, temperature: number): Tensor {
  const { tf } = model
  return tf.logSoftmax(tf.div(logitsOf(model, states), temperature || 1))
}

/** The final norm's output at the token before each of the completions' tokens. */
function statesOf(model: Model, { members, length, width, tokens, positions, sources }: Batch): Tensor {
  const { tf, spec } = model
  const rows = members.length
  const bias = new Float32Array(length * length)
  for (let i = 0; i < length; i++) bias.fill(MASKED, i * length + i + 1, (i + 1) * length)
  const { hidden } = forward(model, {
    batch: rows,
    length,
    tokens: tf.tensor(tokens, [rows * length], 'int32'),
    bias: tf.tensor(bias, [1, 1, length, length]),
    angles: anglesOf(tf, spec, positions, rows),
  })
  return finalNorm(model, gatherRows(tf, hidden, tf.tensor(sources, [rows * width], 'int32')))
}

function ofTargets(
  { tf, spec }: Model,
  { members, width, targets }: Batch,
  logs: Tensor,
): { logprob: Tensor; entropy: Tensor } {
  const rows = members.length
  const chosen = tf.oneHot(tf.tensor(targets, [rows * width], 'int32'), spec.vocabulary)
  return {
    logprob: tf.reshape(tf.sum(tf.mul(logs, tf.cast(chosen, 'float32')), 1), [rows, width]),
    entropy: tf.reshape(tf.neg(tf.sum(tf.mul(tf.exp(logs), logs), 1)), [rows, width]),
  }
}
