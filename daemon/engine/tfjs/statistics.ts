// The forward pass of scoring and training: log-probs, entropies and other statistics of a batch's completions.

import { DIVERGENCE } from '../trainer.ts'
import type { Tensor } from './backend.ts'
import type { Batch } from './batch.ts'
import { anglesOf, causalBias, finalNorm, forward, gatherRows, logitsOf, type Model } from './decoder.ts'
import { divergenceOf, type Teacher } from './divergence.ts'
import { detach } from './objective.ts'

/**
 * Log-probs and entropies under softmax(logits / temperature), and if asked for places and the divergence from a teacher,
 * [rows, width] each.
 */
export function statistics(
  model: Model,
  batch: Batch,
  temperature: number,
  { pit, teacher }: { pit: boolean; teacher?: Teacher | undefined },
): Record<string, Tensor> {
  const logs = logsOf(model, statesOf(model, batch), temperature)
  const { tf } = model
  const shape: [number, number] = [batch.members.length, batch.width]
  return {
    ...ofTargets(model, batch, logs),
    ...(pit && pitOf(model, batch, logs)),
    ...(teacher && { [DIVERGENCE]: tf.reshape(divergenceOf(tf, logs, teacher), shape) }),
  }
}

/**
 * As `statistics`, plus the sums of squared probabilities over the vocabulary, and the hidden states that all of these
 * are computed from, [rows * width, width of the model].
 */
export function scoreStatistics(
  model: Model,
  batch: Batch,
  temperature: number,
  { pit, top }: { pit: boolean; top?: number | undefined },
): {
  logprob: Tensor
  entropy: Tensor
  collision: Tensor
  hidden: Tensor
  above?: Tensor
  ties?: Tensor
  /** The likeliest tokens, falling, [rows * width, top]. */
  top?: { values: Tensor; indices: Tensor }
} {
  const { tf } = model
  const hidden = statesOf(model, batch)
  const logs = logsOf(model, hidden, temperature)
  const collision = tf.reshape(tf.sum(tf.exp(tf.mul(logs, 2)), 1), [batch.members.length, batch.width])
  return {
    ...ofTargets(model, batch, logs),
    collision,
    hidden,
    ...(pit && pitOf(model, batch, logs)),
    ...(top && { top: tf.topk(logs, top) }),
  }
}

/** Probability of all tokens more likely than each target, and of all exactly as likely. No gradient. */
function pitOf(
  { tf }: Model,
  { members, width, targets }: Batch,
  logs: Tensor,
): { above: Tensor; ties: Tensor } {
  const cells = members.length * width
  const plain = detach(tf, logs)
  const at = tf.stack([tf.range(0, cells, 1, 'int32'), tf.tensor(targets, [cells], 'int32')], 1)
  const target = tf.reshape(tf.gatherND(plain, at), [cells, 1])
  const massWhere = (truth: Tensor): Tensor =>
    tf.reshape(tf.sum(tf.mul(tf.exp(plain), tf.cast(truth, 'float32')), 1), [members.length, width])
  return { above: massWhere(tf.greater(plain, target)), ties: massWhere(tf.equal(plain, target)) }
}

/** log softmax(logits / temperature), [rows * width, vocabulary]. */
function logsOf(model: Model, states: Tensor, temperature: number): Tensor {
  const { tf } = model
  return tf.logSoftmax(tf.div(logitsOf(model, states), temperature || 1))
}

/** The final norm's output at the token before each completion token, [rows * width, width of the model]. */
function statesOf(model: Model, { members, length, width, tokens, positions, sources }: Batch): Tensor {
  const { tf, spec } = model
  const rows = members.length
  const { hidden } = forward(model, {
    batch: rows,
    length,
    tokens: tf.tensor(tokens, [rows * length], 'int32'),
    bias: causalBias(tf, length),
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
