// Frozen matrices: what a step computes for them.

import { expect, test } from 'vitest'
import { adapterShapes } from '../../daemon/engine/decoder.ts'
import { buildGradient } from '../../daemon/engine/onnx/decoder/training.ts'
import type { NodeProto } from '../../daemon/engine/onnx/graph/proto.ts'
import { CLIPPED } from '../conformance/engine-cases.ts'
import { ADAPTED } from '../conformance/families.ts'
import { WHOLE } from './model.ts'

test('a step of an adapter computes no gradient of a frozen matrix', () => {
  const [, spec] = ADAPTED
  const options = { accumulate: false, checkpointing: false, parts: WHOLE }
  const graph = buildGradient(spec, CLIPPED, ['advantage', 'mask', 'proximal'], options)
  const products: NodeProto[] = []
  graph.encode((node) => {
    if (node.op === 'Gemm' && node.attributes.transA === 1) products.push(node)
    return undefined
  })
  // A matrix's gradient is a product of a transposed gradient and its input.
  expect(products).toHaveLength(adapterShapes(spec).size)
})
