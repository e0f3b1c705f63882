// Draws tokens where the logits are. Logits of a large vocabulary take longer to copy from a device and to add up here
// than a decoding step takes: with 64 rows of 49,152 more than half of the time.
//
// The device adds up the weights of blocks of tokens, finds the block in which a row's point lies, and sends the sums
// and that block's logits. The host adds the sums and finds the token in the block, in double precision.

import type { Point } from '../../decoding/sequence-cache.ts'
import type { Draw } from '../../sampling/draw.ts'
import { times } from '../graph/dimension.ts'
import { fixed, type Graph, type Value } from '../graph/graph.ts'
import {
  add,
  asIndices,
  concat,
  cumulate,
  exp,
  gatherRows,
  less,
  min,
  mul,
  pad,
  reduceMax,
  reduceSum,
  reshape,
  slice,
  sub,
} from '../graph/ops.ts'

/** Of smaller vocabularies the host draws faster than a device starts these operations. */
const LEAST_VOCABULARY = 4096
/** A logit for no token. */
const NOTHING = -1e4
/** Leaves the likeliest tokens alone, as temperature 0 does. */
const COLD = 1e30
/** The largest point in single precision. A point of 1 would lie in no block. */
const BELOW_ONE = 1 - 2 ** -24

interface Blocks {
  /** Tokens of a block: a power of two near the square root of the vocabulary. */
  size: number
  count: number
}

function blocksOf(vocabulary: number): Blocks {
  const size = 2 ** Math.ceil(Math.log2(vocabulary) / 2)
  return { size, count: Math.ceil(vocabulary / size) }
}

export const drawsOnDevice = (vocabulary: number): boolean => vocabulary >= LEAST_VOCABULARY

/** A row of the output: these numbers, then the sums of the blocks, then the logits of the chosen one. */
const FACTS = ['highest', 'policyTotal', 'policyWeighted', 'weighted', 'block'] as const
type Facts = Record<(typeof FACTS)[number], number>

/**
 * What a draw needs of logits [B, V]. Inputs: `inverses` [B, 1], each row's 1 / temperature, and `points` [B, 1].
 * Output: `drawn` [B, facts + blocks + block size], see `FACTS`.
 */
export function outputDrawing(graph: Graph, logits: Value): void {
  const [batch, vocabulary] = [logits.shape[0]!, fixed('drawing', logits.shape[1]!, logits)]
  const { size, count } = blocksOf(vocabulary)
  const inverses = graph.input('inverses', 'float32', [batch, 1])
  const points = graph.input('points', 'float32', [batch, 1])
  const whole = pad(logits, 1, 0, count * size - vocabulary, NOTHING)
  const byBlock = reshape(whole, [batch, count, size])
  const highest = reduceMax(reduceMax(byBlock, [2]), [1], true)
  const shifted = sub(byBlock, reshape(highest, [batch, 1, 1]))
  /** Sums by block of exp(x), and the sum of x exp(x). */
  const sumsOf = (x: Value): { sums: Value; weighted: Value } => {
    const weights = exp(x)
    return {
      sums: reduceSum(weights, [2]),
      weighted: reduceSum(reduceSum(mul(weights, x), [2]), [1], true),
    }
  }
  const policy = sumsOf(shifted)
  const { sums, weighted } = sumsOf(mul(shifted, reshape(inverses, [batch, 1, 1])))
  const reached = cumulate(sums)
  // Not another sum, which rounding could put beyond the last block.
  const target = mul(points, slice(reached, 1, count - 1, count))
  const above = reduceSum(less(target, reached), [1], true)
  const block = min(sub(graph.scalar(count), above), graph.scalar(count - 1))
  const first = graph.compute('firstBlocks', 'float32', [batch, 1], (sizes) =>
    Float32Array.from({ length: sizes.batch! }, (_, row) => row * count),
  )
  const chosen = gatherRows(
    reshape(whole, [times(batch, count), size]),
    asIndices(reshape(add(first, block), [batch])),
  )
  const policyTotal = reduceSum(policy.sums, [1], true)
  graph.output('drawn', concat([highest, policyTotal, policy.weighted, weighted, block, sums, chosen], 1))
}

/** The inputs of `outputDrawing`. Rows without a point are drawn, too, and mean nothing. */
export function pointFeeds(points: readonly (Point | undefined)[]): Record<string, Float32Array> {
  return {
    inverses: Float32Array.from(points, (point) => inverseOf(point?.temperature ?? 1)),
    points: Float32Array.from(points, (point) =>
      point && point.temperature > 0 ? Math.min(point.u, BELOW_ONE) : 0,
    ),
  }
}

const inverseOf = (temperature: number): number => (temperature > 0 ? Math.min(1 / temperature, COLD) : COLD)

/** The draws of all rows that have a point. What they report is as `draw` says. */
export function drawsFrom(
  drawn: Float32Array,
  points: readonly (Point | undefined)[],
  vocabulary: number,
): (Draw | undefined)[] {
  const width = drawn.length / points.length
  return points.map(
    (point, row) => point && drawFrom(drawn.subarray(row * width, (row + 1) * width), point, vocabulary),
  )
}

function drawFrom(row: Float32Array, { u, temperature }: Point, vocabulary: number): Draw {
  const { size, count } = blocksOf(vocabulary)
  const facts = Object.fromEntries(FACTS.map((name, i) => [name, row[i]!])) as Facts
  const { highest, policyTotal, policyWeighted, block } = facts
  const sums = row.subarray(FACTS.length, FACTS.length + count)
  const logits = row.subarray(FACTS.length + count).subarray(0, Math.min(size, vocabulary - block * size))
  const policyLog = Math.log(policyTotal)
  const policyLogprobOf = (index: number): number => logits[index]! - highest - policyLog
  if (temperature === 0) {
    const index = logits.indexOf(highest)
    const logprob = policyLogprobOf(index)
    const entropy = policyLog - policyWeighted / policyTotal
    return { token: block * size + index, logprob, entropy, policyLogprob: logprob, allowed: 1 }
  }
  const inverse = 1 / temperature
  const total = sums.reduce((a, b) => a + b, 0)
  const before = sums.subarray(0, block).reduce((a, b) => a + b, 0)
  const weights = Float64Array.from(logits, (logit) => Math.exp((logit - highest) * inverse))
  const index = indexAt(weights, u * total - before)
  const logprob = (logits[index]! - highest) * inverse - Math.log(total)
  return {
    token: block * size + index,
    logprob,
    entropy: Math.log(total) - facts.weighted / total,
    policyLogprob: inverse === 1 ? logprob : policyLogprobOf(index),
    allowed: 1,
  }
}

/** The token at this point of a block's weights; the nearest that can be drawn if it lies outside by rounding. */
function indexAt(weights: Float64Array, target: number): number {
  let sum = 0
  let last = 0
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] === 0) continue
    sum += weights[i]!
    last = i
    if (sum > target) break
  }
  return last
}
