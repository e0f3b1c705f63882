// Products of few rows with a large matrix, x Wᵀ, computed as (W xᵀ)ᵀ. ONNX Runtime's product on the CPU copies its right
// matrix into an order of its own, and its left one it reads in place. With few rows that copy takes longer than the
// arithmetic if the weights are on the right, and next to nothing if they are on the left.

import type { Lowering } from './lowering.ts'
import type { NodeProto } from './proto.ts'

export const weightsFirst: Lowering = ({ op, inputs, outputs, attributes }) => {
  if (
    op !== 'Gemm' ||
    attributes.transA !== 0 ||
    attributes.transB !== 1 ||
    inputs.length > 2 ||
    'alpha' in attributes
  )
    return undefined
  const [x, weight] = inputs as [string, string]
  const out = outputs[0]!
  // Not Gemm: the runtime would turn its output back by exchanging its inputs.
  return {
    nodes: [
      turned(x, `${out}.columns`),
      {
        op: 'MatMul',
        domain: '',
        inputs: [weight, `${out}.columns`],
        outputs: [`${out}.turned`],
        attributes: {},
      },
      turned(`${out}.turned`, out),
    ],
    constants: [],
  }
}

function turned(matrix: string, out: string): NodeProto {
  return { op: 'Transpose', domain: '', inputs: [matrix], outputs: [out], attributes: { perm: [1, 0] } }
}
