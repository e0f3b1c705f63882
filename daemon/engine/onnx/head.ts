// What the policy says about each row's target, from the final residual stream: the part of a model that is as wide as
// its vocabulary. With 151,936 tokens, a thousand rows of logits take 600 MB, and several arrays of that size are needed
// at once. So rows go through in parts, of which one is there at a time, and the backward pass computes a part's logits
// again rather than keep them (the chunked cross-entropy of Hsu et al. 2024, for any loss).

import { tokenStatistics } from './blocks.ts'
import { type Dimension, minus, symbol, times } from './dimension.ts'
import type { Value } from './graph.ts'
import { add, afterwards, concat, exp, gemm, mul, neg, reshape, slice } from './ops.ts'

/** Bytes of one part's logits. Smaller parts read the table of embeddings too often. */
const PART_BYTES = 160 * 2 ** 20

/** Rows of each part but the last, which has the rest. */
const PART = symbol('headPart')

/** Into how many parts so many rows go: a power of two, so that few graphs are compiled. */
export function partsOf(rows: number, vocabulary: number): number {
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, (rows * vocabulary * 4) / PART_BYTES)))
  return wanted <= rows ? wanted : 1
}

/** What a graph of so many parts needs to know of a run of so many rows. */
export function partSizes(rows: number, parts: number): { headPart: number } {
  return { headPart: Math.floor(rows / parts) }
}

export interface TokenStatistics {
  logprob: Value
  entropy: Value
}

export interface ScoreStatistics extends TokenStatistics {
  /** Sum of squared probabilities over the vocabulary. */
  collision: Value
}

/**
 * Log-probs of `targets` (int32 [N]) and entropies in nats, [N] each, of softmax(x tableᵀ): x is [N, D], normed and
 * divided by the temperature; the table is [V, D].
 */
export function headStatistics(x: Value, table: Value, targets: Value, parts: number): TokenStatistics {
  if (parts === 1) return tokenStatistics(gemm(x, table, { transposeB: true }), targets)
  const { graph } = x
  const ranges = rangesOf(x, parts)
  // Off the tape: the logits that this computes are not for the backward pass.
  const start = graph.tape.length
  const [logprob, entropy] = inParts(x, table, targets, ranges, (part) => [part.logprob, part.entropy]) as [
    Value,
    Value,
  ]
  graph.tape.length = start

  graph.record([x, table], [logprob, entropy], ([ofLogprob, ofEntropy]) => {
    let earlier = ofLogprob ?? ofEntropy
    if (!earlier) return [undefined, undefined]
    const ofX: Value[] = []
    let ofTable: Value | undefined
    for (const { from, to } of ranges) {
      const column = (values: Value): Value => reshape(slice(values, 0, from, to), [minus(to, from), 1])
      // One part after another, or the runtime might have the logits of several at once.
      const again = afterwards(slice(x, 0, from, to), [earlier])
      const ofLogits = backward(gemm(again, table, { transposeB: true }), {
        targets: column(targets),
        ofLogprob: ofLogprob && column(ofLogprob),
        ofEntropy: ofEntropy && { gradient: column(ofEntropy), entropy: column(entropy) },
      })
      earlier = gemm(ofLogits, table)
      ofX.push(earlier)
      const part = gemm(ofLogits, again, { transposeA: true })
      ofTable = ofTable ? add(ofTable, part) : part
    }
    return [concat(ofX, 0), ofTable]
  })
  return { logprob, entropy }
}

/** The same and collisions, [N] each, where no gradient is wanted. */
export function scoreStatistics(x: Value, table: Value, targets: Value, parts: number): ScoreStatistics {
  if (parts === 1) return tokenStatistics(gemm(x, table, { transposeB: true }), targets)
  const [logprob, entropy, collision] = inParts(x, table, targets, rangesOf(x, parts), (part) => [
    part.logprob,
    part.entropy,
    part.collision,
  ]) as [Value, Value, Value]
  return { logprob, entropy, collision }
}

interface Range {
  from: Dimension
  to: Dimension
}

function rangesOf(x: Value, parts: number): Range[] {
  return Array.from({ length: parts }, (_, i) => ({
    from: times(PART, i),
    to: i === parts - 1 ? x.shape[0]! : times(PART, i + 1),
  }))
}

/** What is wanted of every part's statistics, [N] each. */
function inParts(
  x: Value,
  table: Value,
  targets: Value,
  ranges: readonly Range[],
  wanted: (part: ScoreStatistics) => Value[],
): Value[] {
  const found = ranges.map(({ from, to }) => {
    const logits = gemm(slice(x, 0, from, to), table, { transposeB: true })
    const part = tokenStatistics(logits, slice(targets, 0, from, to))
    // All in one value, or the runtime takes one of them from every part first, and has all parts' logits meanwhile.
    return concat(
      wanted(part).map((values) => reshape(values, [minus(to, from), 1])),
      1,
    )
  })
  const all = concat(found, 0)
  return Array.from({ length: all.shape[1] as number }, (_, at) =>
    reshape(slice(all, 1, at, at + 1), [x.shape[0]!]),
  )
}

/** Gradient of logits [n, V] from those of their rows' statistics, columns [n, 1]. */
function backward(
  logits: Value,
  {
    targets,
    ofLogprob,
    ofEntropy,
  }: {
    targets: Value
    ofLogprob: Value | undefined
    ofEntropy: { gradient: Value; entropy: Value } | undefined
  },
): Value {
  const { graph } = logits
  const like = [{ dtype: 'float32' as const, shape: logits.shape }]
  const [logs] = graph.node('LogSoftmax', [logits], like, { axis: -1 })
  const probabilities = exp(logs!)
  let gradient: Value | undefined
  if (ofLogprob) {
    const inputs = [mul(probabilities, neg(ofLogprob)), targets, ofLogprob]
    gradient = graph.node('ScatterElements', inputs, like, { axis: 1, reduction: 'add' })[0]!
  }
  if (ofEntropy) {
    const surprise = add(logs!, ofEntropy.entropy)
    const part = mul(mul(probabilities, neg(ofEntropy.gradient)), surprise)
    gradient = gradient ? add(gradient, part) : part
  }
  return gradient!
}
