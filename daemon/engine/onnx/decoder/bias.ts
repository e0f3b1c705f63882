// Biases of attention scores: 0 from a query to each token that it attends to, a large negative number to the others.
// They are computed in the graph, since for long sequences they would be large inputs.

import { ANY_BATCH } from '../batch/packing.ts'
import type { Range } from '../graph/autodiff.ts'
import { boundSize, type Dimension, minus, showDimension } from '../graph/dimension.ts'
import type { Graph, Value } from '../graph/graph.ts'
import { add, concat, expand, less, mul, reduceSum, reshape, slice, sub } from '../graph/ops.ts'

const MASKED = -1e9

/** 0 to `length` - 1. */
function placesOf(graph: Graph, length: Dimension): Value {
  return graph.compute(`places ${showDimension(length)}`, 'float32', [length], (bindings) =>
    Float32Array.from({ length: boundSize(length, bindings) }, (_, place) => place),
  )
}

/**
 * Bias [to - from, to] of the queries `from` to `to` of a sequence to itself up to there. With a window, only the last
 * `window` - 1 of the earlier tokens count.
 */
export function causalBias(graph: Graph, length: Dimension, { from, to }: Range, window?: number): Value {
  const places = placesOf(graph, length)
  const queries = reshape(slice(places, 0, from, to), [minus(to, from), 1])
  const keys = reshape(slice(places, 0, 0, to), [1, to])
  const hidden = less(queries, keys)
  const all = window === undefined ? hidden : add(hidden, less(keys, sub(queries, graph.scalar(window - 1))))
  return mul(all, graph.scalar(MASKED))
}

/**
 * Bias [groups, 1, to - from, prefix + to] of the queries `from` to `to` of segments to their group's prefix and to
 * themselves. `prefixBias` is [groups, prefix].
 */
export function segmentBias(prefixBias: Value, { from, to }: Range, window?: number): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const { graph } = prefixBias
  const queries = minus(to, from)
  const real = reshape(prefixBias, [groups, 1, 1, prefix])
  const near = window === undefined ? real : add(real, farBias(prefixBias, { from, to }, window))
  return concat(
    [
      expand(near, [groups, 1, queries, prefix]),
      expand(causalBias(graph, segment, { from, to }, window), [groups, 1, queries, to]),
    ],
    3,
  )
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
