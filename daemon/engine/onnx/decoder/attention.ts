// Attention, lowered to a graph. The query heads that share a key/value head become rows of one matmul.

import type { DecoderSpec } from '../../decoder.ts'
import { ANY_BATCH } from '../batch/packing.ts'
import { boundSize, type Dimension, plus, showDimension, times } from '../graph/dimension.ts'
import type { Graph, Value } from '../graph/graph.ts'
import {
  add,
  concat,
  expand,
  less,
  matmul,
  mul,
  reduceSum,
  reshape,
  slice,
  softmax,
  swapLast,
  transpose,
  where,
} from '../graph/ops.ts'
import { softCap } from './blocks.ts'

const MASKED = -1e9

/**
 * Bias [repeats * size, size] of attention scores: 0 from a token to itself and to earlier tokens, a large negative
 * number elsewhere. With a window, only the last `window` - 1 of the earlier tokens count.
 */
function causalBias(graph: Graph, size: Dimension, repeats: number, window = Infinity): Value {
  return graph.compute(
    `causal ${showDimension(size)} ${repeats} ${window}`,
    'float32',
    [times(repeats, size), size],
    (bindings) => {
      const length = boundSize(size, bindings)
      const bias = new Float32Array(repeats * length * length)
      for (let r = 0; r < repeats; r++) {
        for (let i = 0; i < length; i++) {
          const row = (r * length + i) * length
          bias.fill(MASKED, row + i + 1, row + length)
          bias.fill(MASKED, row, row + Math.max(0, i + 1 - window))
        }
      }
      return bias
    },
  )
}

/** Queries multiplied by the scale of attention scores. */
export function scaled(queries: Value, { attentionScale, headWidth }: DecoderSpec): Value {
  return mul(queries, queries.graph.scalar(attentionScale ?? headWidth ** -0.5))
}

/** Scores [..., queries, keys] of scaled queries, before any bias. */
export function scoresOf(queries: Value, keys: Value, { attentionSoftCap }: DecoderSpec): Value {
  return softCap(matmul(queries, swapLast(keys)), attentionSoftCap)
}

/** Tokens before a prefix: keys and values [B, kvHeads, P, headWidth], and the bias [B, T, P] of scores to them. */
export interface Past {
  length: Dimension
  keys: Value
  values: Value
  bias: Value
}

/**
 * Causal attention of prefixes, also to their past if they have one. q, k, v are [B * T, heads * headWidth], where k
 * and v have kvHeads heads; returns [B * T, heads * headWidth].
 */
export function prefixAttention(
  spec: DecoderSpec,
  [batch, length]: [Dimension, Dimension],
  [q, k, v]: [Value, Value, Value],
  { window, past }: { window?: number | undefined; past?: Past | undefined },
): Value {
  const { heads, kvHeads, headWidth } = spec
  const share = heads / kvHeads
  const queries = scaled(
    reshape(transpose(reshape(q, [batch, length, kvHeads, share, headWidth]), [0, 2, 3, 1, 4]), [
      batch,
      kvHeads,
      times(share, length),
      headWidth,
    ]),
    spec,
  )
  const values = byHead(v, batch, length, spec)
  const bias = causalBias(q.graph, length, share, window)
  const own = add(scoresOf(queries, byHead(k, batch, length, spec), spec), bias)
  const mixed = past ? withPast(spec, queries, { own, values, length }, past) : matmul(softmax(own), values)
  const context = reshape(mixed, [batch, kvHeads, share, length, headWidth])
  return reshape(transpose(context, [0, 3, 1, 2, 4]), [times(batch, length), heads * headWidth])
}

/** Attention over the past and the prefix with one softmax for both. */
function withPast(
  spec: DecoderSpec,
  queries: Value,
  { own, values, length }: { own: Value; values: Value; length: Dimension },
  past: Past,
): Value {
  const [batch] = queries.shape
  const bias = reshape(past.bias, [batch!, 1, length, past.length])
  const share = spec.heads / spec.kvHeads
  const toPast = add(scoresOf(queries, past.keys, spec), concat(Array(share).fill(bias), 2))
  const weights = softmax(concat([toPast, own], 3))
  return add(
    matmul(slice(weights, 3, 0, past.length), past.values),
    matmul(slice(weights, 3, past.length, plus(past.length, length)), values),
  )
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

/** Bias of segments' attention scores: [groups, 1, 1, share * segment, prefix + segment]. */
export function segmentBias(prefixBias: Value, share: number, window?: number): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const { graph } = prefixBias
  const slots = times(share, segment)
  const toPrefix = expand(reshape(prefixBias, [groups, 1, 1, 1, prefix]), [groups, 1, 1, slots, prefix])
  const near = window === undefined ? toPrefix : withinWindow(prefixBias, toPrefix, share, window)
  const toSegment = expand(causalBias(graph, segment, share, window), [groups, 1, 1, slots, segment])
  return concat([near, toSegment], 4)
}

/** The bias to prefixes, also masking tokens that are `window` or more positions before the segment's token. */
function withinWindow(prefixBias: Value, toPrefix: Value, share: number, window: number): Value {
  const { groups, prefix, segment } = ANY_BATCH
  const { graph } = prefixBias
  const slots = times(share, segment)
  /** [groups, 1]: number of tokens in each prefix. Their positions are 0, 1, ... */
  const lengths = reduceSum(less(graph.scalar(MASKED / 2), prefixBias), [1], true)
  const offsets = graph.compute(`segment less prefix ${share}`, 'float32', [slots, prefix], (bindings) => {
    const [rows, columns] = [boundSize(segment, bindings), boundSize(prefix, bindings)]
    return Float32Array.from(
      { length: share * rows * columns },
      (_, at) => (Math.floor(at / columns) % rows) - (at % columns),
    )
  })
  const distance = add(reshape(lengths, [groups, 1, 1, 1, 1]), reshape(offsets, [1, 1, 1, slots, prefix]))
  return where(less(distance, graph.scalar(window)), toPrefix, graph.scalar(MASKED))
}

/** Keys or values of segments and of prefixes, in their slots. */
interface SegmentsAndPrefixes {
  segments: Value
  prefixes: Value
}

/**
 * Attention of segments to their group's prefix and causally to themselves. `q` and the segments of `k` and `v` are
 * [groups * rows * segment, width], the prefixes [groups * prefix, width]; returns
 * [groups * rows * segment, heads * headWidth].
 */
export function segmentAttention(
  spec: DecoderSpec,
  q: Value,
  k: SegmentsAndPrefixes,
  v: SegmentsAndPrefixes,
  bias: Value,
): Value {
  const { groups, rows, prefix, segment } = ANY_BATCH
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const apart = transpose(reshape(q, [groups, rows, segment, kvHeads, share, headWidth]), [0, 1, 3, 4, 2, 5])
  const queries = scaled(reshape(apart, [groups, rows, kvHeads, times(share, segment), headWidth]), spec)
  const ofPrefix = ({ prefixes }: SegmentsAndPrefixes): Value =>
    reshape(byHead(prefixes, groups, prefix, spec), [groups, 1, kvHeads, prefix, headWidth])
  const ofSegment = ({ segments }: SegmentsAndPrefixes): Value =>
    reshape(byHead(segments, times(groups, rows), segment, spec), [groups, rows, kvHeads, segment, headWidth])
  const scores = concat([scoresOf(queries, ofPrefix(k), spec), scoresOf(queries, ofSegment(k), spec)], 4)
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
