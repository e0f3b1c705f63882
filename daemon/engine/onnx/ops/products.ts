// Matrix products.

import { sameDimension } from '../graph/dimension.ts'
import { refuse, sameShape, type Value } from '../graph/graph.ts'
import { broadcastShape, requireFloat, swapLast, unbroadcast } from './shapes.ts'

interface GemmOptions {
  transposeA?: boolean
  transposeB?: boolean
  scale?: number
  /** Added to the product; has its shape. */
  plus?: Value | undefined
}

/** scale op(a) op(b) + plus for matrices, where op transposes if the matching option is set. */
export function gemm(
  a: Value,
  b: Value,
  { transposeA = false, transposeB = false, scale = 1, plus }: GemmOptions = {},
): Value {
  requireFloat('gemm', a, b)
  if (a.shape.length !== 2 || b.shape.length !== 2) refuse('gemm', 'needs two matrices', a, b)
  const [m, k] = transposeA ? [a.shape[1]!, a.shape[0]!] : [a.shape[0]!, a.shape[1]!]
  const [k2, n] = transposeB ? [b.shape[1]!, b.shape[0]!] : [b.shape[0]!, b.shape[1]!]
  if (!sameDimension(k, k2)) refuse('gemm', 'inner sizes differ', a, b)
  if (plus && !sameShape(plus.shape, [m, n])) refuse('gemm', 'the sum has another shape', a, b, plus)
  const [out] = a.graph.node('Gemm', plus ? [a, b, plus] : [a, b], [{ dtype: 'float32', shape: [m, n] }], {
    transA: transposeA ? 1 : 0,
    transB: transposeB ? 1 : 0,
    ...(scale === 1 ? {} : { alpha: { float: scale } }),
  })
  a.graph.record([a, b, ...(plus ? [plus] : [])], [out!], ([g]) => {
    if (!g) return []
    return [
      transposeA
        ? gemm(b, g, { transposeA: transposeB, transposeB: true, scale })
        : gemm(g, b, { transposeB: !transposeB, scale }),
      transposeB
        ? gemm(g, a, { transposeA: true, transposeB: transposeA, scale })
        : gemm(a, g, { transposeA: !transposeA, scale }),
      g,
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
