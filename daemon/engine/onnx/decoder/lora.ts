// LoRA (Hu et al. 2021) in a graph, and its gradients. A target's output W x gets alpha / rank * B (A x). While an adapter
// is trained, A and B are the graph's only trained inputs (`trainableShapes`), so reverse-mode differentiation
// (../graph/autodiff.ts) stops at them and computes no gradient of W:
//
//   dL/dB = alpha / rank * dL/dy (A x)^T      dL/dA = alpha / rank * B^T dL/dy x^T
//
// The gradient of x passes through both, W^T dL/dy + alpha / rank * A^T B^T dL/dy.

import type { AdapterSpec } from '../../decoder.ts'
import type { Value } from '../graph/graph.ts'
import { gemm } from '../graph/ops.ts'
import { linear } from './blocks.ts'

/**
 * `plain` + alpha / rank * B (A x). `x` is [N, in], `a` [rank, in], `b` [out, rank], `plain` and the result [N, out].
 */
export function plusLora(
  plain: Value,
  x: Value,
  { a, b, adapter: { alpha, rank } }: { a: Value; b: Value; adapter: Pick<AdapterSpec, 'alpha' | 'rank'> },
): Value {
  return gemm(linear(x, a), b, { transposeB: true, scale: alpha / rank, plus: plain })
}
