// Reverse KL from a policy to its teacher over K + 1 categories: the teacher's K likeliest tokens, and all others
// together. With p the policy, q the teacher, c a category and x_c = log p_c - log q_c,
//
//   D = sum_c p_c x_c,   and for the logit of token v, in category c(v):   dD / dlogit_v = p_v (x_c(v) - D).
//
// Exact for the policy's whole vocabulary: the categories are sums of its softmax. A rest of less than LEAST_REST counts
// as LEAST_REST, since 1 - sum of p_c is rounding there.

import { LEAST_REST } from '../../top-tokens.ts'
import type { Value } from '../graph/graph.ts'
import {
  addPerRow,
  concat,
  div,
  exp,
  log,
  max,
  mul,
  reduceSum,
  reshape,
  severalPerRow,
  slice,
  sub,
} from '../graph/ops.ts'
import type { Softmax } from './softmax.ts'

/** What a teacher says about rows of logits [N, V]. */
export interface Teacher {
  /** int32 [N, K]. */
  tokens: Value
  /** [N, K + 1]: of these tokens, and of all others together. */
  logprobs: Value
}

/** Probabilities of the K + 1 categories and their gaps x_c, [N, K + 1] each. */
function categories(
  { logs, excess }: Softmax,
  { tokens, logprobs }: Teacher,
): { masses: Value; gaps: Value } {
  const { graph } = logs
  const own = sub(severalPerRow(logs, tokens), excess)
  const masses = exp(own)
  const [rows] = logs.shape
  const named = reshape(reduceSum(masses, [1]), [rows!, 1])
  const rest = max(sub(graph.scalar(1), named), graph.scalar(LEAST_REST))
  return {
    masses: concat([masses, rest], 1),
    gaps: sub(concat([own, log(rest)], 1), logprobs),
  }
}

/** D of each row, [N]. Its gradient is `divergenceGradient`. */
export function divergence(softmax: Softmax, teacher: Teacher): Value {
  // Off the tape: the rule above takes fewer passes than those of these operations.
  const { graph } = softmax.logs
  const start = graph.tape.length
  const { masses, gaps } = categories(softmax, teacher)
  const found = reduceSum(mul(masses, gaps), [1])
  graph.tape.length = start
  return found
}

/** Gradient of the logits [N, V] from that of D, a column [N, 1]. */
export function divergenceGradient(softmax: Softmax, teacher: Teacher, ofDivergence: Value): Value {
  const { logs, probabilities, mass } = softmax
  const [rows] = logs.shape
  const count = teacher.tokens.shape[1] as number
  const { masses, gaps } = categories(softmax, teacher)
  const whole = reshape(reduceSum(mul(masses, gaps), [1]), [rows!, 1])
  const [named, ofNamed, ofRest] = [
    slice(masses, 1, 0, count),
    slice(gaps, 1, 0, count),
    slice(gaps, 1, count, count + 1),
  ]
  const asRest = mul(probabilities, mul(div(ofDivergence, mass), sub(ofRest, whole)))
  return addPerRow(asRest, teacher.tokens, mul(named, mul(ofDivergence, sub(ofNamed, ofRest))))
}
