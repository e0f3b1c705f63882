// Biases of attention scores: 0 from a query to each token that it attends to, a large negative number to the others.
// They are computed in the graph, since for long sequences they would be large inputs.

import { ANY_BATCH } from '../batch/packing.ts'
import type { Range } from '../graph/autodiff.ts'
import { boundSize, type Dimension, minus, plus, showDimension } from '../graph/dimension.ts'
import type { Graph, Value } from '../graph/graph.ts'
import { add, concat, expand, less, mul, reduceSum, reshape, slice, sub } from '../graph/ops.ts'

const MASKED = -1e9

/** Bias of one part's scores, for each part. */
export type BiasOf = (range: Range) => Value

/** The numbers from 0 to `length` - 1. */
function placesOf(graph: Graph, length: Dimension): Value {
  return graph.compute(`places ${showDimension(length)}`, 'float32', [length], (bindings) =>
    Float32Array.from({ length: boundSize(length, bindings) }, (_, place) => place),
  )
}

/**
 * Bias [to - from, to] of the queries of a part of a sequence to the sequence up to there. With a window, only the last
 * `window` - 1 of the earlier tokens count.
 */
export function causalBias(graph: Graph, ranges: readonly Range[], window?: number): BiasOf {
  const last = ranges.at(-1)!
  const places = placesOf(graph, last.to)
  const queries = reshape(slice(places, 0, last.from, last.to), [minus(last.to, last.from), 1])
  const keys = reshape(places, [1, last.to])
  const hidden = less(queries, keys)
  const all = window === undefined ? hidden : add(hidden, less(keys, sub(queries, graph.scalar(window - 1))))
  const ofLast = mul(all, graph.scalar(MASKED))
  // Only distances count, so an earlier part's bias is in the last one's.
  return (range) => {
    if (range === last) return ofLast
    const first = minus(last.from, range.from)
    return slice(slice(ofLast, 0, 0, minus(range.to, range.from)), 1, first, plus(first, range.to))
  }
}

/**
 * Bias [groups, 1, to - from, prefix + to] of the queries of a part of the segments to their group's prefix and to
 * themselves. `prefixBias` is [groups, prefix].
 */
export function segmentBias(prefixBias: Value, ranges: readonly Range[], window?: number): BiasOf {
  const { groups, prefix } = ANY_BATCH
  const real = reshape(prefixBias, [groups, 1, 1, prefix])
  const causal = causalBias(prefixBias.graph, ranges, window)
  return (range) => {
    const queries = minus(range.to, range.from)
    const near = window === undefined ? real : add(real, farBias(prefixBias, range, window))
    return concat(
      [expand(near, [groups, 1, queries, prefix]), expand(causal(range), [groups, 1, queries, range.to])],
      3,
    )
  }
}

/** Bias [groups, 1, to - from, prefix] that hides tokens which are `window` or more places before a segment's token. */
function farBias(prefixBias: Value, { from, to }: Range, window: number): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const { graph } = prefixBias
  /** The number of tokens of each prefix. Their places are 0, 1, ... */
  const lengths = reduceSum(less(graph.scalar(MASKED / 2), prefixBias), [1], true)
  const queries = add(
    reshape(lengths, [groups, 1, 1, 1]),
    reshape(slice(placesOf(graph, segment), 0, from, to), [1, 1, minus(to, from), 1]),
  )
  const nearest = sub(queries, graph.scalar(window - 1))
  const far = less(reshape(placesOf(graph, prefix), [1, 1, 1, prefix]), nearest)
  return mul(far, graph.scalar(MASKED))
}
