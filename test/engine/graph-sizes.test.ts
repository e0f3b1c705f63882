import { expect, test } from 'vitest'
import { plus, symbol, times } from '../../daemon/engine/onnx/graph/dimension.ts'
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

test('sizes that are left unplanned are not named: the runtime would keep their arrays until the end of a run', () => {
  const graph = new Graph('unplanned')
  const [rows, part] = [symbol('rows'), symbol('part')]
  const all = graph.input('all', 'float32', [rows, 6])
  const some = reshape(graph.input('some', 'float32', [plus(part, 1), 6]), [times(plus(part, 1), 6)])
  graph.output('squares', mul(all, mul(all, all)))
  graph.output('others', mul(some, mul(some, some)))
  const told = () => Buffer.from(graph.encode()).toString('latin1')
  expect(told()).toContain('6+6*part')
  graph.leaveUnplanned('part')
  // Outputs keep their shapes.
  expect(told().split('6+6*part').length - 1).toBe(1)
  expect(told()).toContain('rows')
})

test('within a part they are named, by names of its own, so that the runtime computes in place there', () => {
  const graph = new Graph('in parts')
  const part = symbol('part')
  graph.leaveUnplanned('part')
  const some = graph.input('some', 'float32', [part, 6])
  const twice = [0, 1].map(() => graph.inPart(() => mul(mul(some, some), some)))
  twice.forEach((value, i) => {
    graph.output(`cubes${i}`, value)
  })
  const told = Buffer.from(graph.encode()).toString('latin1')
  expect(told).toContain('part of part 0')
  expect(told).toContain('part of part 1')
})
