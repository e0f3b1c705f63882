// The memory layout of a micro-batch: packed for everything that treats tokens one by one, padded only for attention.
//
// The *prefix* is a group's prompt without its last token, computed once for the group. Each completion is a *segment*
// that begins with the prompt's last token, so that every prediction is made in a segment: its tokens are
// [prompt's last, c0, ..., c(n-2)], its targets [c0, ..., c(n-1)]. The packed order is one blank token, then the tokens
// of all segments, then those of all prefixes. Attention uses slots, [groups, rows, segment] and [groups, prefix]; a
// slot without a token reads the blank token. Masks hide the blank token from all others, so its gradient is zero and
// is not computed.

import { type Dimension, plus, symbol, times } from '../graph/dimension.ts'
import type { Graph, Value } from '../graph/graph.ts'
import { concat, expand, reshape } from '../graph/ops.ts'

/** Sizes of one micro-batch. */
export interface BatchShape<Size = number> {
  groups: Size
  /** Completions of the largest group. */
  rows: Size
  /** Longest prefix; at least 1. */
  prefix: Size
  /** Longest segment. */
  segment: Size
  /** Total number of tokens in all segments, and in all prefixes. */
  segmentTokens: Size
  prefixTokens: Size
}

/** A micro-batch of any size: one graph is compiled for all sizes. */
export const ANY_BATCH: BatchShape<Dimension> = {
  groups: symbol('groups'),
  rows: symbol('rows'),
  prefix: symbol('prefix'),
  segment: symbol('segment'),
  segmentTokens: symbol('segmentTokens'),
  prefixTokens: symbol('prefixTokens'),
}

/** Per-token columns of an objective are [rows, tokens]. */
export const TABLE = [times(ANY_BATCH.groups, ANY_BATCH.rows), ANY_BATCH.segment]

/** The blank token and the tokens of all segments: the rows that predictions are made from. */
export const SEGMENT_ROWS = plus(1, ANY_BATCH.segmentTokens)

/** For the segments or the prefixes: which token is in each slot, and which slot each token is in. */
export interface Part {
  /** int32 [slots]: packed position of the slot's token; 0, the blank token, if it has none. */
  slots: Value
  /** int32 [tokens]: slot of each token. */
  tokens: Value
}

export interface PackedInputs {
  /** int32 [N]. */
  tokens: Value
  /** int64 [N, 1]. */
  positions: Value
  segments: Part
  prefixes: Part
  /** [groups, prefix]: 0 for a real prefix token, a large negative number for padding. */
  prefixBias: Value
}

export function declarePacked(graph: Graph): PackedInputs {
  const { groups, rows, prefix, segment, segmentTokens, prefixTokens } = ANY_BATCH
  const count = plus(1, segmentTokens, prefixTokens)
  return {
    tokens: graph.input('tokens', 'int32', [count]),
    positions: graph.input('positions', 'int64', [count, 1]),
    segments: {
      slots: graph.input('segmentSlots', 'int32', [times(groups, rows, segment)]),
      tokens: graph.input('segmentTokens', 'int32', [segmentTokens]),
    },
    prefixes: {
      slots: graph.input('prefixSlots', 'int32', [times(groups, prefix)]),
      tokens: graph.input('prefixTokens', 'int32', [prefixTokens]),
    },
    prefixBias: graph.input('prefixBias', 'float32', [groups, prefix]),
  }
}

/**
 * Copies packed rows [tokens, W] into the slots of each part, [slots, W]. Together the parts contain every token except
 * the blank one.
 */
export function spread(x: Value, parts: readonly Part[]): Value[] {
  const width = x.shape[1]!
  const padded = parts.map(({ slots }) => take(x, slots))
  x.graph.record([x], padded, (found) => {
    const tokens = parts.map((part, i) => {
      const gradient = found[i]
      return gradient
        ? take(gradient, part.tokens)
        : expand(x.graph.scalar(0), [part.tokens.shape[0]!, width])
    })
    return [concat([blank(x), ...tokens], 0)]
  })
  return padded
}

/** The inverse of `spread`: copies the slots of each part to packed rows. The blank token's row is zero. */
export function collect(padded: readonly Value[], parts: readonly Part[]): Value {
  const [first] = padded
  const { graph } = first!
  const tokens = padded.map((value, i) => take(value, parts[i]!.tokens))
  const [out] = graph.node(
    'Concat',
    [blank(first!), ...tokens],
    [
      {
        dtype: 'float32',
        shape: [plus(1, ...tokens.map((value) => value.shape[0]!)), first!.shape[1]!],
      },
    ],
    { axis: 0 },
  )
  graph.record(padded, [out!], ([g]) => parts.map(({ slots }) => g && take(g, slots)))
  return out!
}

/**
 * An objective's column [rows, segment] from one number per segment token, [1 + tokens]. Empty slots are masked later.
 */
export function asTable(x: Value, { segments }: PackedInputs): Value {
  const [padded] = spread(reshape(x, [x.shape[0]!, 1]), [segments])
  return reshape(padded!, TABLE)
}

/** Takes rows by index, without a gradient rule: `spread` and `collect` are gathers and each other's gradients. */
function take(x: Value, indices: Value): Value {
  const shape = [indices.shape[0]!, x.shape[1]!]
  return x.graph.node('Gather', [x, indices], [{ dtype: x.dtype, shape }], { axis: 0 })[0]!
}

function blank(like: Value): Value {
  return expand(like.graph.scalar(0), [1, like.shape[1]!])
}
