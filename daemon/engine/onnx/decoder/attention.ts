// Attention, lowered to a graph. The query heads that share a key/value head become rows of one matmul. Long sequences
// are computed for a part of their queries at a time. A part attends only to keys up to its last query, and its scores
// are computed again in the backward pass (as in FlashAttention, Dao et al. 2022, but with all keys at once). The result is
// kept, also where all else of a layer is computed again.

import { type DecoderSpec, windowOf } from '../../decoder.ts'
import { ANY_BATCH } from '../batch/packing.ts'
import { inParts, type Once, once, type Range } from '../graph/autodiff.ts'
import { type Dimension, minus, plus, times } from '../graph/dimension.ts'
import type { Value } from '../graph/graph.ts'
import {
  add,
  concat,
  expand,
  gatherRows,
  matmul,
  mul,
  reshape,
  slice,
  softmax,
  swapLast,
  transpose,
  weightedMeans,
} from '../graph/ops.ts'
import type { BiasOf } from './bias.ts'
import { softCap } from './blocks.ts'

/** Queries multiplied by the scale of attention scores. */
export function scaled(queries: Value, { attentionScale, headWidth }: DecoderSpec): Value {
  return mul(queries, queries.graph.scalar(attentionScale ?? headWidth ** -0.5))
}

/** Scores [..., queries, keys] of scaled queries, before any bias. */
export function scoresOf(queries: Value, keys: Value, { attentionSoftCap }: DecoderSpec): Value {
  return softCap(matmul(queries, swapLast(keys)), attentionSoftCap)
}

/** The parts of a sequence's queries. */
export interface Causality {
  ranges: readonly Range[]
  /** Bias [B or 1, 1, queries of the part, keys up to its end] of a part's scores. */
  biasOf: BiasOf
  /** For a layer that is computed again: keeps what its parts gave. */
  kept?: Once
}

/** The causality of each layer: its window decides the bias. A whole sequence's bias is made once for all layers. */
export function causalities(
  spec: DecoderSpec,
  ranges: readonly Range[],
  biasFor: (window: number | undefined) => BiasOf,
): (layer: number) => Causality {
  const made = new Map<number | undefined, BiasOf>()
  return (layer) => {
    const window = windowOf(spec, layer)
    let biasOf = made.get(window)
    if (!biasOf) {
      const ofEach = biasFor(window)
      const whole = ranges.length === 1 ? ofEach(ranges[0]!) : undefined
      biasOf = (range) => whole ?? ofEach(range)
      made.set(window, biasOf)
    }
    return { ranges, biasOf }
  }
}

/**
 * Attention of scaled queries [B, R, kvHeads, share, T, headWidth] to keys and values [B, R, kvHeads, E + T, headWidth]:
 * causal, but each attends to the E earlier ones as far as the bias lets it. Returns the shape of the queries.
 */
function attend(
  spec: DecoderSpec,
  [queries, keys, values]: [Value, Value, Value],
  earlier: Dimension,
  { ranges, biasOf, kept = once() }: Causality,
): Value {
  const [batch, rows, kvHeads, share, , headWidth] = queries.shape as [
    Dimension,
    Dimension,
    number,
    number,
    Dimension,
    number,
  ]
  const some = (queries: Value, range: Range, along?: Value): Value => {
    const [count, seen] = [minus(range.to, range.from), plus(earlier, range.to)]
    const together = [batch, rows, kvHeads, times(share, count)]
    const scores = scoresOf(reshape(queries, [...together, headWidth]), slice(keys, 3, 0, seen), spec)
    // All heads of a batch share its bias.
    const biased = add(reshape(scores, [batch, times(rows, kvHeads, share), count, seen]), biasOf(range))
    const means = weightedMeans(
      reshape(biased, [...together, seen]),
      slice(values, 3, 0, seen),
      along && reshape(along, [...together, 1]),
    )
    return reshape(means, [...together.slice(0, 3), share, count, headWidth])
  }
  if (ranges.length === 1) return some(queries, ranges[0]!)
  return inParts(queries, { axis: 4, ranges, captured: [keys, values], kept }, some)
}

/** Tokens before a prefix: keys and values [B, kvHeads, P, headWidth], and the bias [B, T, P] of scores to them. */
interface Earlier {
  length: Dimension
  keys: Value
  values: Value
  bias: Value
}

/**
 * The beginnings of sequences, in a table with N rows of S tokens: keys and values [N, kvHeads, S, headWidth], and the
 * bias [B, T, S]. Each row has M seats.
 */
interface Shared extends Earlier {
  rows: Dimension
  seats: Dimension
  /** int32 [N * M]: the sequence in each seat. */
  members: Value
  /** int32 [B]: the seat of each sequence; any for one without. */
  places: Value
  /** [B]: 1 for a sequence with a seat, else 0. */
  seated: Value
}

/** All that comes before a prefix. */
export interface Past {
  shared: Shared | undefined
  own: Earlier
}

/**
 * Causal attention of prefixes, also to their past if they have one. q, k, v are [B * T, heads * headWidth], where k
 * and v have kvHeads heads; returns [B * T, heads * headWidth].
 */
export function prefixAttention(
  spec: DecoderSpec,
  [batch, length]: [Dimension, Dimension],
  [q, k, v]: [Value, Value, Value],
  causality: Causality,
  past?: Past,
): Value {
  const { heads, kvHeads, headWidth } = spec
  const share = heads / kvHeads
  const apart = transpose(reshape(q, [batch, length, kvHeads, share, headWidth]), [0, 2, 3, 1, 4])
  const [keys, values] = [byHead(k, batch, length, spec), byHead(v, batch, length, spec)]
  const inRows = (one: Value): Value => reshape(one, [batch, 1, kvHeads, length, headWidth])
  const context = past
    ? withPast(spec, scaled(apart, spec), { keys, values, causality }, past)
    : attend(
        spec,
        [
          scaled(reshape(apart, [batch, 1, kvHeads, share, length, headWidth]), spec),
          inRows(keys),
          inRows(values),
        ],
        0,
        causality,
      )
  const together = transpose(reshape(context, [batch, kvHeads, share, length, headWidth]), [0, 3, 1, 2, 4])
  return reshape(together, [times(batch, length), heads * headWidth])
}

/** Attention of queries [B, kvHeads, share, T, headWidth] over the past and the prefix with one softmax for all. */
function withPast(
  spec: DecoderSpec,
  queries: Value,
  { keys, values, causality: { ranges, biasOf } }: { keys: Value; values: Value; causality: Causality },
  past: Past,
): Value {
  const [batch, kvHeads, share, length, headWidth] = queries.shape as [
    Dimension,
    number,
    number,
    Dimension,
    number,
  ]
  const rows = reshape(queries, [batch, kvHeads, times(share, length), headWidth])
  const { shared, own } = past
  const biased = (scores: Value, bias: Value): Value =>
    add(reshape(scores, [batch, spec.heads, length, scores.shape[3]!]), bias)
  const earlier = (bias: Value): Value => reshape(bias, [batch, 1, length, bias.shape[2]!])
  const apart = [
    biased(scoresOf(rows, own.keys, spec), earlier(own.bias)),
    biased(scoresOf(rows, keys, spec), biasOf(ranges[0]!)),
  ]
  const seats = shared && seatsOf(rows, shared)
  const scores = shared
    ? [
        biased(seats!.back(scoresOf(seats!.together(rows), shared.keys, spec)), earlier(shared.bias)),
        ...apart,
      ]
    : apart
  const [begin, middle] = [shared?.length ?? 0, plus(shared?.length ?? 0, own.length)]
  const all = plus(middle, length)
  const weights = reshape(softmax(concat(scores, 3)), [batch, kvHeads, times(share, length), all])
  const context = add(
    matmul(slice(weights, 3, begin, middle), own.values),
    matmul(slice(weights, 3, middle, all), values),
  )
  if (!shared) return context
  const ofShared = seats!.back(matmul(seats!.together(slice(weights, 3, 0, begin)), shared.values))
  return add(mul(ofShared, reshape(shared.seated, [batch, 1, 1, 1])), context)
}

/** Between rows [B, kvHeads, R, width] of sequences, and those that share a row of the table, [N, kvHeads, M * R, width]. */
function seatsOf(
  { shape }: Value,
  { rows, seats, members, places }: Shared,
): { together(x: Value): Value; back(x: Value): Value } {
  const [batch, kvHeads, count] = shape as [Dimension, number, Dimension]
  const turn = [0, 2, 1, 3, 4]
  return {
    together(x) {
      const width = x.shape[3]!
      const taken = gatherRows(reshape(x, [batch, times(kvHeads, count, width)]), members)
      const apart = transpose(reshape(taken, [rows, seats, kvHeads, count, width]), turn)
      return reshape(apart, [rows, kvHeads, times(seats, count), width])
    },
    back(x) {
      const width = x.shape[3]!
      const apart = transpose(reshape(x, [rows, kvHeads, seats, count, width]), turn)
      const all = reshape(apart, [times(rows, seats), times(kvHeads, count, width)])
      return reshape(gatherRows(all, places), [batch, kvHeads, count, width])
    },
  }
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
  causality: Causality,
): Value {
  const { groups, rows, prefix, segment } = ANY_BATCH
  const { kvHeads, heads, headWidth } = spec
  const share = heads / kvHeads
  const apart = transpose(reshape(q, [groups, rows, segment, kvHeads, share, headWidth]), [0, 1, 3, 4, 2, 5])
  const joined = ({ segments, prefixes }: SegmentsAndPrefixes): Value => {
    const ofPrefix = reshape(byHead(prefixes, groups, prefix, spec), [groups, 1, kvHeads, prefix, headWidth])
    const ofSegments = reshape(byHead(segments, times(groups, rows), segment, spec), [
      ...[groups, rows, kvHeads, segment, headWidth],
    ])
    return concat([expand(ofPrefix, [groups, rows, kvHeads, prefix, headWidth]), ofSegments], 3)
  }
  const context = attend(spec, [scaled(apart, spec), joined(k), joined(v)], prefix, causality)
  return reshape(transpose(context, [0, 1, 4, 2, 3, 5]), [times(groups, rows, segment), heads * headWidth])
}
