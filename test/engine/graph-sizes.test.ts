import { expect, test } from 'vitest'
import { symbol, times } from '../../daemon/engine/onnx/graph/dimension.ts'
import { Graph } from '../../daemon/engine/onnx/graph/graph.ts'
import { mul, reshape } from '../../daemon/engine/onnx/graph/ops.ts'

test('a model names the sizes of what its nodes compute, so that the runtime sees which are equal', () => {
  const graph = new Graph('sizes')
  const rows = symbol('rows')
  const flat = reshape(graph.input('table', 'float32', [rows, 6]), [times(rows, 3), 2])
  graph.output('squares', mul(flat, flat))
  const told = Buffer.from(graph.encode()).toString('latin1')
  expect(told).toContain('3*rows')
  // What the runtime would have to work out from the content of an input.
  expect(told.split(flat.name).length - 1).toBe(4)
})
