// What the policy says about each row's target, from the final residual stream: the part of a model that is as
// wide as its vocabulary. With 151,936 tokens, a thousand rows of logits take 600 MB, and several arrays of
// that size are needed at once. So rows go through in parts, of which one is there at a time, and the backward
// pass computes a part's logits again rather than keep them (the chunked cross-entropy of Hsu et al. 2024, for
// any loss).

import { type Dimension, minus, symbol, times } from '../graph/dimension.ts'
import type { Value } from '../graph/graph.ts'
import {
  add,
  afterwards,
  concat,
  exp,
  gemm,
  type Matrix,
  mul,
  neg,
  project,
  reshape,
  slice,
  sub,
  tanh,
  unproject,
} from '../graph/ops.ts'
import { type TokenStatistics, tokenStatistics } from './blocks.ts'

/** Most bytes of one part's logits. Smaller parts read the table of embeddings more often, and take less memory. */
const PART_BYTES = { usual: 160 * 2 ** 20, small: 64 * 2 ** 20 }

/** Rows of each part but the last, which has the rest. */
const PART = 'headPart'

/** Into how many parts so many rows go: a power of two, so that few graphs are compiled. */
export function partsOf(
  rows: number,
  vocabulary: number,
  { isShort = false }: { isShort?: boolean | undefined } = {},
): number {
  const most = PART_BYTES[isShort ? 'small' : 'usual']
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, (rows * vocabulary * 4) / most)))
  return wanted <= rows ? wanted : 1
}

/** What a graph of so many parts needs to know of a run of so many rows. */
export function partSizes(rows: number, parts: number): { [PART]: number } {
  return { [PART]: Math.floor(rows / parts) }
}

export type Statistic = keyof TokenStatistics

/** Those that are always there, and those that were asked for. */
export type HeadStatistics = Pick<TokenStatistics, 'logprob' | 'entropy'> & Partial<TokenStatistics>

/** The output layer. Rows x [N, D] give logits x tableᵀ, already divided by the temperature if x is. */
export interface Head {
  /** [V, D]. */
  table: Matrix
  /** Logits become size * tanh(logits / size), and only then are divided by the temperature. */
  cap?: { size: number; inverseTemperature: Value }
}

/** Logits [N, V], and the way back from their gradient to that of x tableᵀ. */
function logitsOf(x: Value, { table, cap }: Head): { logits: Value; back(gradient: Value): Value } {
  const raw = project(x, table)
  if (!cap) return { logits: raw, back: (gradient) => gradient }
  const { graph } = x
  const { size, inverseTemperature } = cap
  const bent = tanh(mul(raw, graph.scalar(1 / size)))
  const logits = mul(bent, mul(inverseTemperature, graph.scalar(size)))
  const slope = (): Value => mul(sub(graph.scalar(1), mul(bent, bent)), inverseTemperature)
  return { logits, back: (gradient) => mul(gradient, slope()) }
}

/** Log-probs of `targets` (int32 [N]) and entropies of the softmax of x's logits, and what else is wanted, [N] each. */
export function headStatistics(
  x: Value,
  head: Head,
  { targets, parts, wanted }: { targets: Value; parts: number; wanted: readonly Statistic[] },
): HeadStatistics {
  if (parts === 1) return tokenStatistics(logitsOf(x, head).logits, targets)
  const { table } = head
  const { graph } = x
  graph.leaveUnplanned(PART)
  const ranges = rangesOf(x, parts)
  // Off the tape: the logits that this computes are not for the backward pass.
  const start = graph.tape.length
  const names = [...new Set<Statistic>(['logprob', 'entropy', ...wanted])]
  const found = inParts(x, head, targets, ranges, names)
  const { logprob, entropy } = found
  graph.tape.length = start

  const inputs = 'form' in table ? [x] : [x, table]
  graph.record(inputs, [logprob, entropy], ([ofLogprob, ofEntropy]) => {
    let earlier = ofLogprob ?? ofEntropy
    if (!earlier) return [undefined, undefined]
    const ofX: Value[] = []
    let ofTable: Value | undefined
    for (const { from, to } of ranges) {
      const column = (values: Value): Value => reshape(slice(values, 0, from, to), [minus(to, from), 1])
      // One part after another, or the runtime might have the logits of several at once.
      const again = afterwards(slice(x, 0, from, to), [earlier])
      const { logits, back } = logitsOf(again, head)
      const ofLogits = back(
        backward(logits, {
          targets: column(targets),
          ofLogprob: ofLogprob && column(ofLogprob),
          ofEntropy: ofEntropy && { gradient: column(ofEntropy), entropy: column(entropy) },
        }),
      )
      earlier = unproject(ofLogits, table)
      ofX.push(earlier)
      const part = gemm(ofLogits, again, { transposeA: true })
      ofTable = ofTable ? add(ofTable, part) : part
    }
    return [concat(ofX, 0), ofTable]
  })
  return found
}

interface Range {
  from: Dimension
  to: Dimension
}

function rangesOf(x: Value, parts: number): Range[] {
  const part = symbol(PART)
  return Array.from({ length: parts }, (_, i) => ({
    from: times(part, i),
    to: i === parts - 1 ? x.shape[0]! : times(part, i + 1),
  }))
}

/** Statistics of every part, joined, [N] each. */
function inParts(
  x: Value,
  head: Head,
  targets: Value,
  ranges: readonly Range[],
  names: readonly Statistic[],
): HeadStatistics {
  const found = ranges.map(({ from, to }) => {
    const { logits } = logitsOf(slice(x, 0, from, to), head)
    const part = tokenStatistics(logits, slice(targets, 0, from, to))
    // All in one value, or the runtime takes one of them from every part first, and has all parts' logits
    // meanwhile.
    return concat(
      names.map((name) => reshape(part[name], [minus(to, from), 1])),
      1,
    )
  })
  const all = concat(found, 0)
  return Object.fromEntries(
    names.map((name, at) => [name, reshape(slice(all, 1, at, at + 1), [x.shape[0]!])]),
  ) as HeadStatistics
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
