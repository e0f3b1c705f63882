// Operations that change a value's shape but not its numbers, and the sum over axes that reverses a broadcast.

import { type Dimension, minus, plus, sameDimension } from '../graph/dimension.ts'
import { refuse, type Shape, sameShape, showSizes, sizeOf, type Value } from '../graph/graph.ts'

export function broadcastShape(operation: string, a: Value, b: Value): Shape {
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
export function unbroadcast(gradient: Value, shape: Shape): Value {
  if (sameShape(gradient.shape, shape)) return gradient
  const lead = gradient.shape.length - shape.length
  const axes: number[] = []
  for (let i = 0; i < gradient.shape.length; i++) {
    if (i < lead || (shape[i - lead] === 1 && gradient.shape[i] !== 1)) axes.push(i)
  }
  const summed = axes.length > 0 ? reduceSum(gradient, axes, true) : gradient
  return reshape(summed, shape)
}

export function requireFloat(operation: string, ...values: Value[]): void {
  for (const value of values) if (value.dtype !== 'float32') refuse(operation, 'needs float32', ...values)
}

export function axisOf(operation: string, value: Value, axis: number): number {
  const resolved = axis < 0 ? axis + value.shape.length : axis
  if (resolved < 0 || resolved >= value.shape.length) refuse(operation, `no axis ${axis}`, value)
  return resolved
}

export function reducedShape(operation: string, a: Value, axes: readonly number[], keep: boolean): Shape {
  const at = axes.map((axis) => axisOf(operation, a, axis))
  return keep ? a.shape.map((s, i) => (at.includes(i) ? 1 : s)) : a.shape.filter((_, i) => !at.includes(i))
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

/** Swaps the last two axes. The runtime merges it into an adjacent product. */
export function swapLast(a: Value): Value {
  const rank = a.shape.length
  return transpose(a, [...a.shape.keys()].slice(0, -2).concat(rank - 1, rank - 2))
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

/** Pads before and after along an axis, with zeros if nothing else is given. */
export function pad(a: Value, axis: number, before: Dimension, after: Dimension, value = 0): Value {
  if (before === 0 && after === 0) return a
  const at = axisOf('pad', a, axis)
  const shape = a.shape.map((s, i) => (i === at ? plus(s, before, after) : s))
  const pads = [
    ...a.shape.map((_, i) => (i === at ? before : 0)),
    ...a.shape.map((_, i) => (i === at ? after : 0)),
  ]
  const inputs = [a, a.graph.ints(pads), ...(value === 0 ? [] : [a.graph.scalar(value)])]
  const [out] = a.graph.node('Pad', inputs, [{ dtype: a.dtype, shape }])
  a.graph.record([a], [out!], ([g]) => [g && slice(g, at, before, plus(before, a.shape[at]!))])
  return out!
}

export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values
  if (!first) refuse('concat', 'nothing to join')
  if (values.length === 1) return first
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

/** Parts of these sizes along an axis, in one operation. */
export function split(a: Value, axis: number, sizes: readonly Dimension[]): Value[] {
  const at = axisOf('split', a, axis)
  if (!sameDimension(plus(...sizes), a.shape[at]!))
    refuse('split', `the parts [${showSizes(sizes)}] are not the whole of axis ${axis}`, a)
  if (sizes.length === 1) return [a]
  const { graph, dtype } = a
  const shapes = sizes.map((size) => a.shape.map((s, i) => (i === at ? size : s)))
  const outputs = shapes.map((shape) => ({ dtype, shape }))
  const parts = graph.node('Split', [a, graph.ints(sizes)], outputs, { axis: at })
  graph.record([a], parts, (gradients) => {
    if (gradients.every((g) => g === undefined)) return []
    return [
      concat(
        gradients.map((g, i) => g ?? expand(graph.scalar(0), shapes[i]!)),
        at,
      ),
    ]
  })
  return parts
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
