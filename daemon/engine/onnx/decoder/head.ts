// The output layer for scoring and training: statistics of each row's target from the final residual stream. Logits are
// as wide as the vocabulary: with 151,936 tokens, a thousand rows take 600 MB, and several arrays of that size are
// needed at once. So rows are processed in parts, one at a time, and the backward pass recomputes a part's logits
// instead of keeping them (the chunked cross-entropy of Hsu et al. 2024, for any loss).

import type { Range } from '../graph/autodiff.ts'
import { type Dimension, minus } from '../graph/dimension.ts'
import type { Value } from '../graph/graph.ts'
import {
  add,
  afterwards,
  concat,
  div,
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
import { type TokenExtras, type TokenStatistics, tokenStatistics } from './blocks.ts'
import { divergenceGradient, type Teacher } from './divergence.ts'
import { rangesOf } from './parts.ts'
import { softmaxOf } from './softmax.ts'

/** What is one number a row. */
export type Statistic = Exclude<keyof TokenStatistics, 'top'>

/** The statistics that are always computed, and those that were asked for. */
export type HeadStatistics = Pick<TokenStatistics, 'logprob' | 'entropy'> & Partial<TokenStatistics>

/** The output layer: rows x [N, D] give the logits x tableᵀ. If x was divided by the temperature, so are they. */
export interface Head {
  /** [V, D]. */
  table: Matrix
  /** Logits become size * tanh(logits / size) and are then divided by the temperature. */
  cap?: { size: number; inverseTemperature: Value }
}

/** Logits [N, V], and a function that turns their gradient into that of x tableᵀ. */
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

/**
 * Log-probs of `targets` (int32 [N]), entropies, and the `wanted` statistics of the softmax of x's logits, each [N]. With
 * a teacher also the divergence from it, and if asked for the likeliest tokens.
 */
export function headStatistics(
  x: Value,
  head: Head,
  {
    targets,
    parts,
    wanted,
    ...extras
  }: { targets: Value; parts: number; wanted: readonly Statistic[] } & TokenExtras,
): HeadStatistics {
  if (parts === 1) return tokenStatistics(logitsOf(x, head).logits, targets, extras)
  const { teacher } = extras
  const { table } = head
  const { graph } = x
  const ranges = rangesOf(graph, x.shape[0]!, 'head', parts)
  // Off the tape, because the backward pass does not use the logits computed here.
  const start = graph.tape.length
  const always: Statistic[] = ['logprob', 'entropy', ...(teacher ? (['divergence'] as const) : [])]
  const names = [...new Set<Statistic>([...always, ...wanted])]
  const found = inParts(x, head, { targets, ranges, names, ...extras })
  const { logprob, entropy, divergence } = found
  graph.tape.length = start

  const inputs = 'form' in table ? [x] : [x, table]
  const outputs = [logprob, entropy, ...(divergence ? [divergence] : [])]
  graph.record(inputs, outputs, ([ofLogprob, ofEntropy, ofDivergence]) => {
    let earlier = ofLogprob ?? ofEntropy ?? ofDivergence
    if (!earlier) return [undefined, undefined]
    const ofX: Value[] = []
    let ofTable: Value | undefined
    for (const { from, to } of ranges) {
      const column = (values: Value): Value => reshape(slice(values, 0, from, to), [minus(to, from), 1])
      // Each part waits for the one before. Otherwise the runtime might hold the logits of several parts at once.
      const again = afterwards(slice(x, 0, from, to), [earlier])
      const ofLogits = graph.inPart(() => {
        const { logits, back } = logitsOf(again, head)
        return back(
          backward(logits, {
            targets: column(targets),
            ofLogprob: ofLogprob && column(ofLogprob),
            ofEntropy: ofEntropy && { gradient: column(ofEntropy), entropy: column(entropy) },
            ofDivergence: ofDivergence && {
              gradient: column(ofDivergence),
              teacher: slicedTeacher(teacher!, from, to),
            },
          }),
        )
      })
      earlier = unproject(ofLogits, table)
      ofX.push(earlier)
      const part = gemm(ofLogits, again, { transposeA: true })
      ofTable = ofTable ? add(ofTable, part) : part
    }
    return [concat(ofX, 0), ofTable]
  })
  return found
}

/** Computes the statistics part by part and joins them, [N] each. */
function inParts(
  x: Value,
  head: Head,
  {
    targets,
    ranges,
    names,
    teacher,
    top,
  }: { targets: Value; ranges: readonly Range[]; names: readonly Statistic[] } & TokenExtras,
): HeadStatistics {
  const statisticsOf = ({ from, to }: Range): Value => {
    const { logits } = logitsOf(slice(x, 0, from, to), head)
    const part = tokenStatistics(logits, slice(targets, 0, from, to), {
      teacher: teacher && slicedTeacher(teacher, from, to),
      top,
    })
    // Joined into one value. Otherwise the runtime would compute one statistic of every part first, and meanwhile hold
    // the logits of all parts.
    const columns = names.map((name) => reshape(part[name]!, [minus(to, from), 1]))
    return concat(part.top ? [...columns, part.top] : columns, 1)
  }
  const found = ranges.map((range) => x.graph.inPart(() => statisticsOf(range)))
  const all = concat(found, 0)
  return {
    ...(Object.fromEntries(
      names.map((name, at) => [name, reshape(slice(all, 1, at, at + 1), [x.shape[0]!])]),
    ) as HeadStatistics),
    ...(top && { top: slice(all, 1, names.length, names.length + 2 * top) }),
  }
}

function slicedTeacher({ tokens, logprobs }: Teacher, from: Dimension, to: Dimension): Teacher {
  return { tokens: slice(tokens, 0, from, to), logprobs: slice(logprobs, 0, from, to) }
}

/** Gradient of logits [n, V] from the gradients of their rows' statistics, columns [n, 1]. */
function backward(
  logits: Value,
  {
    targets,
    ofLogprob,
    ofEntropy,
    ofDivergence,
  }: {
    targets: Value
    ofLogprob: Value | undefined
    ofEntropy: { gradient: Value; entropy: Value } | undefined
    ofDivergence: { gradient: Value; teacher: Teacher } | undefined
  },
): Value {
  const { graph } = logits
  const like = [{ dtype: 'float32' as const, shape: logits.shape }]
  const softmax = softmaxOf(logits)
  const { logs, probabilities, mass, excess } = softmax
  let gradient: Value | undefined
  if (ofLogprob) {
    const inputs = [mul(probabilities, neg(div(ofLogprob, mass))), targets, ofLogprob]
    gradient = graph.node('ScatterElements', inputs, like, { axis: 1, reduction: 'add' })[0]!
  }
  if (ofEntropy) {
    const surprise = add(logs, sub(ofEntropy.entropy, excess))
    const part = mul(mul(probabilities, neg(div(ofEntropy.gradient, mass))), surprise)
    gradient = gradient ? add(gradient, part) : part
  }
  if (ofDivergence) {
    const { teacher } = ofDivergence
    const part = divergenceGradient(softmax, teacher, ofDivergence.gradient)
    gradient = gradient ? add(gradient, part) : part
  }
  return gradient!
}
