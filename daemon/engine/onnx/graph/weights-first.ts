// Computes products x Wᵀ of few rows with a large matrix as (W xᵀ)ᵀ. On the CPU, ONNX Runtime's matmul reads its left
// operand in place but repacks its right operand. With few rows, repacking W would take longer than the arithmetic;
// repacking xᵀ takes almost no time.

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
  // Not Gemm, because the runtime would fold the Transpose into it by swapping its operands again.
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
