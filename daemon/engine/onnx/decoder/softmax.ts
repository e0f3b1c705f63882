// The softmax of logits as wide as a vocabulary, with the error of the runtime's sum measured and taken out.
//
// The runtime adds a row's exponentials in F32, lane by lane. Where one token holds nearly all, small terms in its lane are
// rounded away: log-probs come out too high, by 5e-5 for 49,152 tokens and by 3e-4 for 262,144. Blocks of about the square
// root of that are added first here, and then their sums, which is right to 2e-6. A size without a divisor near there keeps
// up to three fifths of the error.

import { fixed, type Value } from '../graph/graph.ts'
import { exp, log, reduceSum, reshape } from '../graph/ops.ts'

/** All of rows of logits [N, V]. */
export interface Softmax {
  /** [N, V]: log-probs plus `excess`. */
  logs: Value
  /** [N, V]: probabilities times `mass`. */
  probabilities: Value
  /** [N, 1]: what `probabilities` add up to. */
  mass: Value
  /** [N, 1]: the log of it. */
  excess: Value
}

/** Off the tape: whoever uses it has a gradient rule of their own. */
export function softmaxOf(logits: Value): Softmax {
  const { graph, shape } = logits
  const start = graph.tape.length
  const [rows, vocabulary] = [shape[0]!, fixed('softmax', shape[1]!, logits)]
  const logs = graph.node('LogSoftmax', [logits], [{ dtype: 'float32', shape }], { axis: -1 })[0]!
  const probabilities = exp(logs)
  const block = blockOf(vocabulary)
  const sums = reduceSum(reshape(probabilities, [rows, vocabulary / block, block]), [2])
  const mass = reduceSum(sums, [1], true)
  const excess = log(mass)
  graph.tape.length = start
  return { logs, probabilities, mass, excess }
}

/** The largest divisor up to the square root. */
function blockOf(size: number): number {
  let block = Math.floor(Math.sqrt(size))
  while (size % block !== 0) block--
  return block
}
