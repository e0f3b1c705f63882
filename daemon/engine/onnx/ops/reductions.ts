// Reductions: operations that combine several numbers into one.

import { fixed, sizeOf, type Value } from '../graph/graph.ts'
import { add, mul, sub } from './elementwise.ts'
import { matmul } from './products.ts'
import { axisOf, concat, expand, reducedShape, reduceSum, requireFloat, reshape, swapLast } from './shapes.ts'

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

/** The largest element along some axes. No gradient. */
export function reduceMax(a: Value, axes: readonly number[], keep = false): Value {
  requireFloat('reduceMax', a)
  const shape = reducedShape('reduceMax', a, axes, keep)
  const how = { keepdims: keep ? 1 : 0 }
  return a.graph.node('ReduceMax', [a, a.graph.ints(axes)], [{ dtype: 'float32', shape }], how)[0]!
}

/** Sums along the last axis of each element and those before it. No gradient. */
export function cumulate(a: Value): Value {
  requireFloat('cumulate', a)
  const last = a.graph.constant(Int32Array.of(a.shape.length - 1), [])
  return a.graph.node('CumSum', [a, last], [{ dtype: 'float32', shape: a.shape }])[0]!
}

/** Sum of all elements, as a scalar. */
export function sum(a: Value): Value {
  return reduceSum(reshape(a, [sizeOf(a.shape)]), [0])
}

/** Sum of the squares of all elements, as a scalar. No gradient. */
export function sumOfSquares(a: Value): Value {
  const flat = reshape(a, [sizeOf(a.shape)])
  return a.graph.node('ReduceSumSquare', [flat, a.graph.ints([0])], [{ dtype: 'float32', shape: [] }], {
    keepdims: 0,
  })[0]!
}

/** Softmax over the last axis. No gradient. */
export function softmax(a: Value): Value {
  requireFloat('softmax', a)
  return a.graph.node('Softmax', [a], [{ dtype: 'float32', shape: a.shape }], { axis: -1 })[0]!
}

/**
 * softmax(scores) values, over the last two axes. Its gradient needs the sum of each row of gradient times result (Dao et al.
 * 2022, arXiv 2205.14135, appendix B), which is `along` where the caller has it.
 */
export function weightedMeans(scores: Value, values: Value, along?: Value): Value {
  const { tape } = scores.graph
  const start = tape.length
  const weights = softmax(scores)
  const out = matmul(weights, values)
  tape.length = start
  scores.graph.record([scores, values], [out], ([g]) => {
    if (!g) return []
    const slopes = sub(matmul(g, swapLast(values)), along ?? rowSums(g, out))
    return [mul(weights, slopes), matmul(swapLast(weights), g)]
  })
  return out
}

/** Sums of a * b along the last axis, which is kept. */
export function rowSums(a: Value, b: Value): Value {
  return reduceSum(mul(a, b), [a.shape.length - 1], true)
}

/**
 * The same value, but only available after the others, because 0 times one element of each is added to it. If one of
 * those elements is not finite, neither is the result.
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
