// Products of matrices.

import { sameDimension } from '../graph/dimension.ts'
import { refuse, type Value } from '../graph/graph.ts'
import { broadcastShape, requireFloat, swapLast, unbroadcast } from './shapes.ts'

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
