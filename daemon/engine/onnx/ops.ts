// The operations of Waggle's graphs, each with its vector-Jacobian product. Shapes follow NumPy's broadcasting; a size
// with symbols in it is never taken for 1. Fused building blocks of a decoder are in `blocks.ts`.

import { type Dimension, minus, plus, sameDimension } from './dimension.ts'
import { fixed, refuse, type Shape, sameShape, showSizes, sizeOf, type Value } from './graph.ts'

// ── Shapes ──────────────────────────────────────────────────────────────────

function broadcastShape(operation: string, a: Value, b: Value): Shape {
  const rank = Math.max(a.shape.length, b.shape.length)
  const shape: Dimension[] = []
  for (let i = 0; i < rank; i++) {
    const x = a.shape[a.shape.length - rank + i] ?? 1
    const y = b.shape[b.shape.length - rank + i] ?? 1
    if (!sameDimension(x, y) && x !== 1 && y !== 1) refuse(operation, 'shapes do not broadcast', a, b)
    shape.push(x === 1 ? y : x)
  }
  return shape
}

/** Sums a gradient over the axes along which its value was broadcast. */
function unbroadcast(gradient: Value, shape: Shape): Value {
  if (sameShape(gradient.shape, shape)) return gradient
  const lead = gradient.shape.length - shape.length
  const axes: number[] = []
  for (let i = 0; i < gradient.shape.length; i++) {
    if (i < lead || (shape[i - lead] === 1 && gradient.shape[i] !== 1)) axes.push(i)
  }
  const summed = axes.length > 0 ? reduceSum(gradient, axes, true) : gradient
  return reshape(summed, shape)
}

function requireFloat(operation: string, ...values: Value[]): void {
  for (const value of values) if (value.dtype !== 'float32') refuse(operation, 'needs float32', ...values)
}

function axisOf(operation: string, value: Value, axis: number): number {
  const resolved = axis < 0 ? axis + value.shape.length : axis
  if (resolved < 0 || resolved >= value.shape.length) refuse(operation, `no axis ${axis}`, value)
  return resolved
}

export function reshape(a: Value, shape: Shape): Value {
  if (!sameDimension(sizeOf(shape), sizeOf(a.shape)))
    refuse('reshape', `cannot become [${showSizes(shape)}]`, a)
  if (sameShape(shape, a.shape)) return a
  const [out] = a.graph.node('Reshape', [a, a.graph.ints(shape)], [{ dtype: a.dtype, shape }], {
    allowzero: 1,
  })
  a.graph.record([a], [out!], ([g]) => [g && reshape(g, a.shape)])
  return out!
}

export function transpose(a: Value, permutation: readonly number[]): Value {
  if ([...permutation].sort((x, y) => x - y).join() !== a.shape.map((_, i) => i).join()) {
    refuse('transpose', `[${permutation.join(',')}] is not a permutation`, a)
  }
  const shape = permutation.map((axis) => a.shape[axis]!)
  const [out] = a.graph.node('Transpose', [a], [{ dtype: a.dtype, shape }], { perm: permutation })
  const inverse = permutation.map((_, i) => permutation.indexOf(i))
  a.graph.record([a], [out!], ([g]) => [g && transpose(g, inverse)])
  return out!
}

export function expand(a: Value, shape: Shape): Value {
  if (sameShape(shape, a.shape)) return a
  const [out] = a.graph.node('Expand', [a, a.graph.ints(shape)], [{ dtype: a.dtype, shape }])
  if (!sameShape(broadcastShape('expand', a, out!), shape))
    refuse('expand', 'shapes do not broadcast', a, out!)
  a.graph.record([a], [out!], ([g]) => [g && unbroadcast(g, a.shape)])
  return out!
}

/** Elements `start` (inclusive) to `end` (exclusive) along an axis. */
export function slice(a: Value, axis: number, start: Dimension, end: Dimension): Value {
  const at = axisOf('slice', a, axis)
  const size = a.shape[at]!
  const length = minus(end, start)
  if (typeof length === 'number' && length <= 0) refuse('slice', `an empty range on axis ${axis}`, a)
  if (typeof size === 'number' && typeof end === 'number' && end > size)
    refuse('slice', `no element ${end} on axis ${axis}`, a)
  if (start === 0 && sameDimension(end, size)) return a
  const shape = a.shape.map((s, i) => (i === at ? length : s))
  const { graph } = a
  const [out] = graph.node(
    'Slice',
    [a, graph.ints([start]), graph.ints([end]), graph.ints([at])],
    [{ dtype: a.dtype, shape }],
  )
  graph.record([a], [out!], ([g]) => [g && pad(g, at, start, minus(size, end))])
  return out!
}

/** Zeros before and after along an axis. */
export function pad(a: Value, axis: number, before: Dimension, after: Dimension): Value {
  const at = axisOf('pad', a, axis)
  const shape = a.shape.map((s, i) => (i === at ? plus(s, before, after) : s))
  const pads = [
    ...a.shape.map((_, i) => (i === at ? before : 0)),
    ...a.shape.map((_, i) => (i === at ? after : 0)),
  ]
  const [out] = a.graph.node('Pad', [a, a.graph.ints(pads)], [{ dtype: a.dtype, shape }])
  a.graph.record([a], [out!], ([g]) => [g && slice(g, at, before, plus(before, a.shape[at]!))])
  return out!
}

export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values
  if (!first) refuse('concat', 'nothing to join')
  const at = axisOf('concat', first, axis)
  for (const value of values) {
    const fits =
      value.shape.length === first.shape.length &&
      value.shape.every((s, i) => i === at || sameDimension(s, first.shape[i]!))
    if (!fits || value.dtype !== first.dtype) refuse('concat', `shapes differ off axis ${axis}`, ...values)
  }
  const shape = first.shape.map((s, i) => (i === at ? plus(...values.map((v) => v.shape[at]!)) : s))
  const [out] = first.graph.node('Concat', values, [{ dtype: first.dtype, shape }], { axis: at })
  first.graph.record(values, [out!], ([g]) => {
    let start: Dimension = 0
    return values.map((value) => {
      const end = plus(start, value.shape[at]!)
      const part = g && slice(g, at, start, end)
      start = end
      return part
    })
  })
  return out!
}

// ── Elementwise ─────────────────────────────────────────────────────────────

function elementwise(op: string, a: Value, b: Value): Value {
  requireFloat(op.toLowerCase(), a, b)
  const shape = broadcastShape(op.toLowerCase(), a, b)
  return a.graph.node(op, [a, b], [{ dtype: 'float32', shape }])[0]!
}

function unary(op: string, a: Value, rule?: (g: Value, out: Value) => Value): Value {
  requireFloat(op.toLowerCase(), a)
  const out = a.graph.node(op, [a], [{ dtype: 'float32', shape: a.shape }])[0]!
  if (rule) a.graph.record([a], [out], ([g]) => [g && rule(g, out)])
  return out
}

export function add(a: Value, b: Value): Value {
  const out = elementwise('Add', a, b)
  a.graph.record([a, b], [out], ([g]) => [g && unbroadcast(g, a.shape), g && unbroadcast(g, b.shape)])
  return out
}

export function sub(a: Value, b: Value): Value {
  const out = elementwise('Sub', a, b)
  a.graph.record([a, b], [out], ([g]) => [g && unbroadcast(g, a.shape), g && unbroadcast(neg(g), b.shape)])
  return out
}

export function mul(a: Value, b: Value): Value {
  const out = elementwise('Mul', a, b)
  a.graph.record([a, b], [out], ([g]) => [
    g && unbroadcast(mul(g, b), a.shape),
    g && unbroadcast(mul(g, a), b.shape),
  ])
  return out
}

export function div(a: Value, b: Value): Value {
  const out = elementwise('Div', a, b)
  a.graph.record([a, b], [out], ([g]) => [
    g && unbroadcast(div(g, b), a.shape),
    g && unbroadcast(neg(div(mul(g, out), b)), b.shape),
  ])
  return out
}

export const neg = (a: Value): Value => unary('Neg', a, neg)
export const exp = (a: Value): Value => unary('Exp', a, (g, out) => mul(g, out))
export const log = (a: Value): Value => unary('Log', a, (g) => div(g, a))
export const sqrt = (a: Value): Value => unary('Sqrt', a, (g, out) => div(mul(g, a.graph.scalar(0.5)), out))
export const sigmoid = (a: Value): Value =>
  unary('Sigmoid', a, (g, out) => mul(g, mul(out, sub(a.graph.scalar(1), out))))
export const abs = (a: Value): Value => unary('Abs', a, (g) => mul(g, unary('Sign', a)))

/** 1 where a < b, else 0. No gradient. */
export function less(a: Value, b: Value): Value {
  const shape = broadcastShape('less', a, b)
  const [truth] = a.graph.node('Less', [a, b], [{ dtype: 'bool', shape }])
  return a.graph.node('Cast', [truth], [{ dtype: 'float32', shape }], { to: 1 })[0]!
}

/** `then` where the condition is not 0, else `otherwise`. All three broadcast. */
export function where(condition: Value, then: Value, otherwise: Value): Value {
  const { graph } = condition
  const [zero] = graph.node(
    'Equal',
    [condition, graph.scalar(0)],
    [{ dtype: 'bool', shape: condition.shape }],
  )
  const branches = elementwiseShape('where', then, otherwise)
  const shape = broadcastShape('where', { ...condition, dtype: 'float32' }, { ...then, shape: branches })
  const [out] = graph.node('Where', [zero, otherwise, then], [{ dtype: 'float32', shape }])
  graph.record([condition, then, otherwise], [out!], ([g]) => [
    undefined,
    g && unbroadcast(where(condition, g, graph.scalar(0)), then.shape),
    g && unbroadcast(where(condition, graph.scalar(0), g), otherwise.shape),
  ])
  return out!
}

function elementwiseShape(operation: string, a: Value, b: Value): Shape {
  requireFloat(operation, a, b)
  return broadcastShape(operation, a, b)
}

/** The smaller of two. Where they tie, the gradient goes to `a`. */
export function min(a: Value, b: Value): Value {
  const out = elementwise('Min', a, b)
  recordChoice(a, b, out, () => less(b, a))
  return out
}

/** The larger of two. Where they tie, the gradient goes to `a`. */
export function max(a: Value, b: Value): Value {
  const out = elementwise('Max', a, b)
  recordChoice(a, b, out, () => less(a, b))
  return out
}

function recordChoice(a: Value, b: Value, out: Value, choseB: () => Value): void {
  const { graph } = a
  graph.record([a, b], [out], ([g]) => {
    if (!g) return [undefined, undefined]
    const toB = mul(g, choseB())
    return [unbroadcast(sub(g, toB), a.shape), unbroadcast(toB, b.shape)]
  })
}

/** The same value, through which no gradient flows. */
export function detach(a: Value): Value {
  return a.graph.node('Identity', [a], [{ dtype: a.dtype, shape: a.shape }])[0]!
}

/**
 * The same value, but not to be had before the others: 0 times an element of each is added. If one of those is not finite,
 * neither is the result.
 */
export function afterwards(a: Value, others: readonly Value[]): Value {
  const { graph } = a
  const elements = others.map((other) => {
    const flat = graph.node(
      'Reshape',
      [other, graph.ints([-1])],
      [{ dtype: other.dtype, shape: [sizeOf(other.shape)] }],
    )[0]!
    const first = graph.constant(Int32Array.of(0), [1])
    return graph.node('Gather', [flat, first], [{ dtype: other.dtype, shape: [1] }], { axis: 0 })[0]!
  })
  const together = elements.length === 1 ? elements[0]! : sum(concat(elements, 0))
  return add(a, mul(together, graph.scalar(0)))
}

// ── Reductions ──────────────────────────────────────────────────────────────

function reducedShape(operation: string, a: Value, axes: readonly number[], keep: boolean): Shape {
  const at = axes.map((axis) => axisOf(operation, a, axis))
  return keep ? a.shape.map((s, i) => (at.includes(i) ? 1 : s)) : a.shape.filter((_, i) => !at.includes(i))
}

export function reduceSum(a: Value, axes: readonly number[], keep = false): Value {
  requireFloat('reduceSum', a)
  const shape = reducedShape('reduceSum', a, axes, keep)
  const [out] = a.graph.node('ReduceSum', [a, a.graph.ints(axes)], [{ dtype: 'float32', shape }], {
    keepdims: keep ? 1 : 0,
  })
  const kept = reducedShape('reduceSum', a, axes, true)
  a.graph.record([a], [out!], ([g]) => [g && expand(reshape(g, kept), a.shape)])
  return out!
}

export function reduceMean(a: Value, axes: readonly number[], keep = false): Value {
  const count = axes.reduce(
    (product, axis) => product * fixed('reduceMean', a.shape[axisOf('reduceMean', a, axis)]!, a),
    1,
  )
  const shape = reducedShape('reduceMean', a, axes, keep)
  const [out] = a.graph.node('ReduceMean', [a, a.graph.ints(axes)], [{ dtype: 'float32', shape }], {
    keepdims: keep ? 1 : 0,
  })
  const kept = reducedShape('reduceMean', a, axes, true)
  a.graph.record([a], [out!], ([g]) => [
    g && expand(mul(reshape(g, kept), a.graph.scalar(1 / count)), a.shape),
  ])
  return out!
}

/** Sum of every element, as a scalar. */
export function sum(a: Value): Value {
  return reduceSum(reshape(a, [sizeOf(a.shape)]), [0])
}

/** Sum of squares of every element, as a scalar. No gradient. */
export function sumOfSquares(a: Value): Value {
  const flat = reshape(a, [sizeOf(a.shape)])
  return a.graph.node('ReduceSumSquare', [flat, a.graph.ints([0])], [{ dtype: 'float32', shape: [] }], {
    keepdims: 0,
  })[0]!
}

// ── Products ────────────────────────────────────────────────────────────────

/** op(a) op(b) for matrices, where op transposes if told to. */
export function gemm(a: Value, b: Value, { transposeA = false, transposeB = false } = {}): Value {
  requireFloat('gemm', a, b)
  if (a.shape.length !== 2 || b.shape.length !== 2) refuse('gemm', 'needs two matrices', a, b)
  const [m, k] = transposeA ? [a.shape[1]!, a.shape[0]!] : [a.shape[0]!, a.shape[1]!]
  const [k2, n] = transposeB ? [b.shape[1]!, b.shape[0]!] : [b.shape[0]!, b.shape[1]!]
  if (!sameDimension(k, k2)) refuse('gemm', 'inner sizes differ', a, b)
  const [out] = a.graph.node('Gemm', [a, b], [{ dtype: 'float32', shape: [m, n] }], {
    transA: transposeA ? 1 : 0,
    transB: transposeB ? 1 : 0,
  })
  a.graph.record([a, b], [out!], ([g]) => {
    if (!g) return [undefined, undefined]
    return [
      transposeA
        ? gemm(b, g, { transposeA: transposeB, transposeB: true })
        : gemm(g, b, { transposeB: !transposeB }),
      transposeB
        ? gemm(g, a, { transposeA: true, transposeB: transposeA })
        : gemm(a, g, { transposeA: !transposeA }),
    ]
  })
  return out!
}

/** Batched matrix product over the last two axes; the leading axes broadcast. */
export function matmul(a: Value, b: Value): Value {
  requireFloat('matmul', a, b)
  const rank = a.shape.length
  if (rank < 3 || b.shape.length !== rank) refuse('matmul', 'needs equal ranks of 3 or more', a, b)
  if (!sameDimension(a.shape[rank - 1]!, b.shape[rank - 2]!)) refuse('matmul', 'inner sizes differ', a, b)
  const batch = (value: Value): Value => ({ ...value, shape: value.shape.slice(0, -2) })
  const lead = broadcastShape('matmul', batch(a), batch(b))
  const shape = [...lead, a.shape[rank - 2]!, b.shape[rank - 1]!]
  const [out] = a.graph.node('MatMul', [a, b], [{ dtype: 'float32', shape }])
  a.graph.record([a, b], [out!], ([g]) => [
    g && unbroadcast(matmul(g, swapLast(b)), a.shape),
    g && unbroadcast(matmul(swapLast(a), g), b.shape),
  ])
  return out!
}

/** Swaps the last two axes. Next to a product, the runtime folds it into the product. */
export function swapLast(a: Value): Value {
  const rank = a.shape.length
  return transpose(a, [...a.shape.keys()].slice(0, -2).concat(rank - 1, rank - 2))
}

// ── Indexing ────────────────────────────────────────────────────────────────

/**
 * Rows of a matrix by index, as an embedding: [V, D] and int32 [N] give [N, D].
 * The gradient is a scatter-add in index order, so it is the same on every run.
 */
export function gatherRows(table: Value, indices: Value): Value {
  if (table.shape.length !== 2 || indices.shape.length !== 1)
    refuse('gatherRows', 'needs a matrix and a list', table, indices)
  const count = indices.shape[0]!
  const width = table.shape[1]!
  const [out] = table.graph.node(
    'Gather',
    [table, indices],
    [{ dtype: table.dtype, shape: [count, width] }],
    { axis: 0 },
  )
  table.graph.record([table, indices], [out!], ([g]) => [
    g && scatterRows(g, indices, table.shape[0]!),
    undefined,
  ])
  return out!
}

function scatterRows(rows: Value, indices: Value, count: Dimension): Value {
  const { graph } = rows
  const [, width] = rows.shape
  const spread = expand(reshape(indices, [indices.shape[0]!, 1]), [indices.shape[0]!, width!])
  const zeros = expand(graph.scalar(0), [count, width!])
  return graph.node(
    'ScatterElements',
    [zeros, spread, rows],
    [{ dtype: 'float32', shape: [count, width!] }],
    { axis: 0, reduction: 'add' },
  )[0]!
}

/** One element of each row by index: [N, V] and int32 [N] give [N]. No gradient; see `tokenStatistics`. */
export function pickPerRow(rows: Value, indices: Value): Value {
  const [count] = rows.shape
  if (!sameShape(indices.shape, [count!])) refuse('pickPerRow', 'needs one index a row', rows, indices)
  const column = reshape(indices, [count!, 1])
  const [out] = rows.graph.node(
    'GatherElements',
    [rows, column],
    [{ dtype: 'float32', shape: [count!, 1] }],
    { axis: 1 },
  )
  return reshape(out!, [count!])
}

/** Softmax over the last axis. */
export function softmax(a: Value): Value {
  requireFloat('softmax', a)
  const [out] = a.graph.node('Softmax', [a], [{ dtype: 'float32', shape: a.shape }], { axis: -1 })
  const last = a.shape.length - 1
  a.graph.record([a], [out!], ([g]) => {
    if (!g) return [undefined]
    return [mul(out!, sub(g, reduceSum(mul(g, out!), [last], true)))]
  })
  return out!
}
