// Building blocks of a decoder. Some have hand-written vector-Jacobian products, which need fewer passes over memory
// than the composed rules of elementary operations.

import { fixed, refuse, sameShape, type Value } from '../graph/graph.ts'
import {
  add,
  detach,
  div,
  equal,
  less,
  likeliest,
  type Matrix,
  mul,
  neg,
  pickPerRow,
  project,
  reduceMean,
  reduceSum,
  reshape,
  sigmoid,
  sub,
  tanh,
} from '../graph/ops.ts'
import { divergence, divergenceGradient, type Teacher } from './divergence.ts'
import { softmaxOf } from './softmax.ts'

/** x Wᵀ + b for rows x: [N, in], W: [out, in], b: [out]. */
export function linear(x: Value, weight: Matrix, bias?: Value): Value {
  const product = project(x, weight)
  return bias ? add(product, bias) : product
}

/** Root-mean-square norm over the last axis, times a weight. Zhang & Sennrich 2019. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const last = x.shape.length - 1
  if (!sameShape(weight.shape, [x.shape[last]!]))
    refuse('rmsNorm', 'the weight must have the last axis of x', x, weight)
  const { graph } = x
  const kept = x.shape.map((size, axis) => (axis === last ? 1 : size))
  const [out, inverse] = graph.node(
    'SimplifiedLayerNormalization',
    [x, weight],
    [
      { dtype: 'float32', shape: x.shape },
      { dtype: 'float32', shape: kept },
    ],
    { axis: -1, epsilon: { float: epsilon }, stash_type: 1 },
  )
  graph.record([x, weight], [out!], ([g]) => {
    if (!g) return [undefined, undefined]
    const normal = mul(x, inverse!)
    const scaled = mul(g, weight)
    const along = reduceMean(mul(scaled, normal), [last], true)
    return [
      mul(inverse!, sub(scaled, mul(normal, along))),
      reduceSum(mul(g, normal), [...x.shape.keys()].slice(0, -1)),
    ]
  })
  return out!
}

/** silu(gate) * up, with silu(x) = x sigmoid(x). Shazeer 2020 (SwiGLU). */
export function gatedSilu(gate: Value, up: Value): Value {
  const { graph } = gate
  const weight = sigmoid(gate)
  const active = mul(gate, weight)
  const [out] = graph.node('Mul', [active, up], [{ dtype: 'float32', shape: gate.shape }])
  graph.record([gate, up], [out!], ([g]) => {
    if (!g) return [undefined, undefined]
    // silu' = s + a (1 - s), where a = x s
    const slope = add(weight, sub(active, mul(active, weight)))
    return [mul(mul(g, up), slope), mul(g, active)]
  })
  return out!
}

/** gelu(gate) * up, with the tanh approximation. Hendrycks & Gimpel 2016 (GeGLU: Shazeer 2020). */
export function gatedGelu(gate: Value, up: Value): Value {
  const { graph } = gate
  const cube = mul(mul(gate, gate), gate)
  const inner = mul(add(gate, mul(cube, graph.scalar(0.044715))), graph.scalar(2 * Math.sqrt(2 / Math.PI)))
  // (1 + tanh(x)) / 2 = sigmoid(2 x)
  return mul(mul(gate, sigmoid(inner)), up)
}

/** cap * tanh(x / cap); x itself without a cap. */
export function softCap(x: Value, cap: number | undefined): Value {
  if (cap === undefined) return x
  return mul(tanh(mul(x, x.graph.scalar(1 / cap))), x.graph.scalar(cap))
}

export interface Rotary {
  /** int64 [B, T]. */
  positions: Value
  /** [positions, headWidth / 2] each; the table must be longer than the largest position. */
  cos: Value
  sin: Value
}

/**
 * Rotary position embedding of [B, T, heads * headWidth]. Pairs element i of a head with i + headWidth / 2. Su et al.
 * 2021.
 */
export function rotate(x: Value, { positions, cos, sin }: Rotary): Value {
  const { graph } = x
  const apply = (value: Value, sine: Value): Value =>
    graph.node(
      'RotaryEmbedding',
      [value, positions, cos, sine],
      [{ dtype: 'float32', shape: value.shape }],
      {},
      'com.microsoft',
    )[0]!
  const width = 2 * fixed('rotate', cos.shape[1]!, cos)
  if (x.shape.length !== 3 || fixed('rotate', x.shape[2]!, x) % width !== 0) {
    refuse('rotate', 'needs [B, T, heads * width]', x, cos)
  }
  const out = apply(x, sin)
  // A rotation's transpose is the rotation by the opposite angle.
  graph.record([x], [out], ([g]) => [g && apply(g, neg(sin))])
  return out
}

export interface TokenStatistics {
  logprob: Value
  /** Nats. */
  entropy: Value
  /** Sum of squared probabilities over the vocabulary. No gradient. */
  collision: Value
  /** Probability of all tokens that are more likely than the target. No gradient. */
  above: Value
  /** Probability of all tokens exactly as likely as the target, itself included. No gradient. */
  ties: Value
  /** Reverse KL to the teacher, in nats; there is one only with a teacher. */
  divergence: Value
  /** [N, 2K]: log-probs of the K likeliest tokens, falling, and then their ids. No gradient. */
  top: Value
}

/** Statistics that are only there if they were asked for. */
export interface TokenExtras {
  teacher?: Teacher | undefined
  /** K of `top`. */
  top?: number | undefined
}

/** Statistics of each row of logits [N, V] for its target (int32 [N]), [N] each. */
export function tokenStatistics(
  logits: Value,
  targets: Value,
  { teacher, top }: TokenExtras = {},
): Omit<TokenStatistics, 'divergence' | 'top'> & Partial<TokenStatistics> {
  const { graph } = logits
  const [rows, vocabulary] = logits.shape
  const softmax = softmaxOf(logits)
  const { logs, probabilities, mass, excess } = softmax
  const picked = pickPerRow(logs, targets)
  const surprises = neg(reduceSum(mul(probabilities, logs), [1], true))
  const collision = reduceSum(mul(probabilities, probabilities), [1])
  const target = reshape(picked, [rows!, 1])
  const massWhere = (truth: Value): Value => detach(reduceSum(mul(probabilities, truth), [1]))
  const perRow = (column: Value): Value => reshape(column, [rows!])
  // Detached, so that each has only the gradient rule that is recorded for it below.
  const logprob = detach(sub(picked, perRow(excess)))
  const entropy = detach(perRow(add(div(surprises, mass), excess)))
  graph.record([logits], [logprob], ([g]) => {
    if (!g) return [undefined]
    const column = reshape(g, [rows!, 1])
    const [gradient] = graph.node(
      'ScatterElements',
      [mul(probabilities, neg(div(column, mass))), reshape(targets, [rows!, 1]), column],
      [{ dtype: 'float32', shape: [rows!, vocabulary!] }],
      { axis: 1, reduction: 'add' },
    )
    return [gradient]
  })
  graph.record([logits], [entropy], ([g]) => {
    if (!g) return [undefined]
    const column = reshape(g, [rows!, 1])
    const surprise = add(logs, sub(reshape(entropy, [rows!, 1]), excess))
    return [mul(neg(div(column, mass)), mul(probabilities, surprise))]
  })
  const divergenceOf = (from: Teacher): Value => {
    const found = divergence(softmax, from)
    graph.record([logits], [found], ([g]) => [g && divergenceGradient(softmax, from, reshape(g, [rows!, 1]))])
    return found
  }
  return {
    logprob,
    entropy,
    collision,
    above: massWhere(less(target, logs)),
    ties: massWhere(equal(target, logs)),
    ...(teacher && { divergence: divergenceOf(teacher) }),
    ...(top && { top: likeliest(logs, top, excess) }),
  }
}
