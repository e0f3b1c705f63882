// Taking rows and elements by index.

import type { Dimension } from '../graph/dimension.ts'
import { refuse, sameShape, type Value } from '../graph/graph.ts'
import { sub } from './elementwise.ts'
import { concat, expand, reshape } from './shapes.ts'

/**
 * Rows of a matrix by index, as in an embedding: [V, D] and int32 [N] give [N, D].
 * The gradient is a scatter-add in index order, so it is the same on every run.
 */
export function gatherRows(table: Value, indices: Value): Value {
  if (table.shape.length !== 2 || indices.shape.length !== 1)
    refuse('gatherRows', 'needs a matrix and a list', table, indices)
  const count = indices.shape[0]!
  const width = table.shape[1]!
  const [out] = table.graph.node(
    'Gather',
    [table, indices],
    [{ dtype: table.dtype, shape: [count, width] }],
    { axis: 0 },
  )
  table.graph.record([table, indices], [out!], ([g]) => [
    g && scatterRows(g, indices, table.shape[0]!),
    undefined,
  ])
  return out!
}

function scatterRows(rows: Value, indices: Value, count: Dimension): Value {
  const { graph } = rows
  const [, width] = rows.shape
  const spread = expand(reshape(indices, [indices.shape[0]!, 1]), [indices.shape[0]!, width!])
  const zeros = expand(graph.scalar(0), [count, width!])
  return graph.node(
    'ScatterElements',
    [zeros, spread, rows],
    [{ dtype: 'float32', shape: [count, width!] }],
    { axis: 0, reduction: 'add' },
  )[0]!
}

/** Whole numbers as the int32 that indices are. No gradient. */
export function asIndices(a: Value): Value {
  return a.graph.node('Cast', [a], [{ dtype: 'int32', shape: a.shape }], { to: 6 })[0]!
}

/** One element of each row by index: [N, V] and int32 [N] give [N]. No gradient; see `tokenStatistics`. */
export function pickPerRow(rows: Value, indices: Value): Value {
  const [count] = rows.shape
  if (!sameShape(indices.shape, [count!])) refuse('pickPerRow', 'needs one index a row', rows, indices)
  const column = reshape(indices, [count!, 1])
  const [out] = rows.graph.node(
    'GatherElements',
    [rows, column],
    [{ dtype: 'float32', shape: [count!, 1] }],
    { axis: 1 },
  )
  return reshape(out!, [count!])
}

/** K elements of each row by index: [N, V] and int32 [N, K] give [N, K]. No gradient; see `divergence.ts`. */
export function severalPerRow(rows: Value, indices: Value): Value {
  const like = [{ dtype: rows.dtype, shape: indices.shape }]
  return rows.graph.node('GatherElements', [rows, indices], like, { axis: 1 })[0]!
}

/** Adds K values to elements of each row, by index: [N, V], int32 [N, K] and [N, K]. No gradient. */
export function addPerRow(rows: Value, indices: Value, values: Value): Value {
  const like = [{ dtype: rows.dtype, shape: rows.shape }]
  const how = { axis: 1, reduction: 'add' }
  return rows.graph.node('ScatterElements', [rows, indices, values], like, how)[0]!
}

/**
 * The largest `count` elements of each row, falling, less the row's `excess` [N, 1], and then their indices as floats:
 * [N, 2 count]. No gradient.
 */
export function likeliest(rows: Value, count: number, excess: Value): Value {
  const { graph } = rows
  const shape = [rows.shape[0]!, count]
  const [values, indices] = graph.node(
    'TopK',
    [rows, graph.ints([count])],
    [
      { dtype: 'float32', shape },
      { dtype: 'int64', shape },
    ],
    { axis: 1 },
  )
  // Exact: no vocabulary has 2^24 tokens.
  const [asFloats] = graph.node('Cast', [indices!], [{ dtype: 'float32', shape }], { to: 1 })
  return concat([sub(values!, excess), asFloats!], 1)
}
