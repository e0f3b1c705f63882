// Attention, lowered to a graph. Queries of heads that share keys and values are rows of one product.

import type { DecoderSpec } from '../decoder.ts'
import { boundSize, type Dimension, plus, showDimension, times } from './dimension.ts'
import type { Graph, Value } from './graph.ts'
import { add, concat, expand, matmul, mul, reshape, slice, softmax, swapLast, transpose } from './ops.ts'
import { ANY_BATCH } from './packing.ts'

const MASKED = -1e9

/** Lower-triangular bias [repeats * size, size]: 0 where a token may look, a large negative number elsewhere. */
export function causalBias(graph: Graph, size: Dimension, repeats: number): Value {
  return graph.compute(
    `causal ${showDimension(size)} ${repeats}`,
    'float32',
    [times(repeats, size), size],
    (bindings) => {
      const length = boundSize(size, bindings)
      const bias = new Float32Array(repeats * length * length)
      for (let r = 0; r < repeats; r++) {
        for (let i = 0; i < length; i++)
          bias.fill(MASKED, (r * length + i) * length + i + 1, (r * length + i + 1) * length)
      }
      return bias
    },
  )
}

/** Causal attention of prefixes: q, k, v are [B * P, heads * headWidth]; gives [B * P, heads * headWidth]. */
export function prefixAttention(
  spec: DecoderSpec,
  batch: Dimension,
  length: Dimension,
  q: Value,
  k: Value,
  v: Value,
): Value {
  const { heads, kvHeads, headWidth } = spec
  const share = heads / kvHeads
  const queries = reshape(
    transpose(reshape(q, [batch, length, kvHeads, share, headWidth]), [0, 2, 3, 1, 4]),
    [batch, kvHeads, times(share, length), headWidth],
  )
  const keys = byHead(k, batch, length, spec)
  const values = byHead(v, batch, length, spec)
  const scaled = mul(queries, q.graph.scalar(headWidth ** -0.5))
  const scores = add(matmul(scaled, swapLast(keys)), causalBias(q.graph, length, share))
  const context = reshape(matmul(softmax(scores), values), [batch, kvHeads, share, length, headWidth])
  return reshape(transpose(context, [0, 3, 1, 2, 4]), [times(batch, length), heads * headWidth])
}

/** [B * T, kvHeads * headWidth] as [B, kvHeads, T, headWidth]. */
export function byHead(
  x: Value,
  batch: Dimension,
  length: Dimension,
  { kvHeads, headWidth }: DecoderSpec,
): Value {
  return transpose(reshape(x, [batch, length, kvHeads, headWidth]), [0, 2, 1, 3])
}
/** What segments may look at: [groups, 1, 1, share * segment, prefix + segment]. */
export function segmentBias(prefixBias: Value, share: number): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const slots = times(share, segment)
  return concat(
    [
      expand(reshape(prefixBias, [groups, 1, 1, 1, prefix]), [groups, 1, 1, slots, prefix]),
      expand(causalBias(prefixBias.graph, segment, share), [groups, 1, 1, slots, segment]),
    ],
    4,
  )
}

/** Keys or values of segments, or of prefixes, in their slots. */
export interface Slots {
  segments: Value
  prefixes: Value
}

/**
 * Attention of segments to their group's prefix and causally to themselves. `q` and the segments of `k` and `v` are
 * [groups * rows * segment, width], the prefixes [groups * prefix, width]; gives [groups * rows * segment, heads * headWidth].
 */
export function segmentAttention(spec: DecoderSpec, q: Value, k: Slots, v: Slots, bias: Value): Value {
  const { groups, rows, prefix, segment } = ANY_BATCH
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const apart = transpose(reshape(q, [groups, rows, segment, kvHeads, share, headWidth]), [0, 1, 3, 4, 2, 5])
  const queries = mul(
    reshape(apart, [groups, rows, kvHeads, times(share, segment), headWidth]),
    q.graph.scalar(headWidth ** -0.5),
  )
  const ofPrefix = ({ prefixes }: Slots): Value =>
    reshape(byHead(prefixes, groups, prefix, spec), [groups, 1, kvHeads, prefix, headWidth])
  const ofSegment = ({ segments }: Slots): Value =>
    reshape(byHead(segments, times(groups, rows), segment, spec), [groups, rows, kvHeads, segment, headWidth])
  const scores = concat([matmul(queries, swapLast(ofPrefix(k))), matmul(queries, swapLast(ofSegment(k)))], 4)
  const weights = softmax(add(scores, bias))
  const context = add(
    matmul(slice(weights, 4, 0, prefix), ofPrefix(v)),
    matmul(slice(weights, 4, prefix, plus(prefix, segment)), ofSegment(v)),
  )
  const together = transpose(
    reshape(context, [groups, rows, kvHeads, share, segment, headWidth]),
    [0, 1, 4, 2, 3, 5],
  )
  return reshape(together, [times(groups, rows, segment), heads * headWidth])
}
