// Products with a stored matrix one tile of rows at a time. A tile's F32 values exist only for its product. Values wait for
// an earlier result: otherwise the runtime might make the tiles of all layers at once. If a matrix has several, their sizes
// are hidden from the runtime, which would keep their memory for later ones. The gradient rule is in matrices.ts.
//
// Numbers of 4 bits are two to a byte, so they become two arrays, of the even and of the odd columns. Each has a product
// of its own, so that only the small results are interleaved.

import { MIDDLE } from '../../stored/stored.ts'
import type { Graph, Value } from '../graph/graph.ts'
import { refuse } from '../graph/graph.ts'
import { add } from './elementwise.ts'
import { gemm } from './products.ts'
import { concat, reduceSum, reshape, slice } from './shapes.ts'
import type { StoredMatrix } from './stored-matrix.ts'

interface Tile {
  from: number
  to: number
}

export function tilesOf({ shape: [rows, columns], tileBytes }: StoredMatrix): Tile[] {
  const count = Math.ceil((rows * columns * 4) / tileBytes)
  const most = Math.ceil(rows / count)
  return Array.from({ length: count }, (_, i) => ({ from: i * most, to: Math.min(rows, (i + 1) * most) }))
}

/** x Wᵀ for x [N, columns] and the rows of W in the tile: [N, rows]. Waits for `earlier`. */
export function projectTile(x: Value, matrix: StoredMatrix, tile: Tile, earlier: Value): Value {
  const values = floatsOf(matrix, tile, earlier)
  const parts = values.length === 1 ? [x] : evenAndOdd(x)
  let sum: Value | undefined
  parts.forEach((part, i) => {
    sum = gemm(part, values[i]!, { transposeB: true, plus: sum })
  })
  if (!hasMinimums(matrix)) return sum!
  return gemm(blockSums(x, matrix), cut(matrix.minimums(), tile, earlier), { transposeB: true, plus: sum })
}

/** g W for g [N, rows] and the rows of W in the tile: [N, columns]. Waits for `earlier`. */
export function unprojectTile(g: Value, matrix: StoredMatrix, tile: Tile, earlier: Value): Value {
  const [count, columns] = [g.shape[0]!, matrix.shape[1]]
  const products = floatsOf(matrix, tile, earlier).map((values) => gemm(g, values))
  const product =
    products.length === 1
      ? products[0]!
      : reshape(
          concat(
            products.map((half) => reshape(half, [count, columns / 2, 1])),
            2,
          ),
          [count, columns],
        )
  if (!hasMinimums(matrix)) return product
  const { block } = formOf(matrix)
  const ofBlocks = gemm(g, cut(matrix.minimums(), tile, earlier))
  const blocks = columns / block
  const whole = add(reshape(product, [count, blocks, block]), reshape(ofBlocks, [count, blocks, 1]))
  return reshape(whole, [count, columns])
}

/** A block's minimum is multiplied by the sum of x over the block. */
export function blockSums(x: Value, matrix: StoredMatrix): Value {
  const { block } = formOf(matrix)
  return reduceSum(reshape(x, [x.shape[0]!, matrix.shape[1] / block, block]), [2])
}

/** The tile's F32 values without minimums, [rows, columns], or those of its even and its odd columns. */
function floatsOf(matrix: StoredMatrix, tile: Tile, earlier: Value): Value[] {
  const { graph, form } = matrix
  const node = nodesOf(matrix, tile)
  if (form.kind === 'halves') {
    const part = cut(matrix.halves(), tile, earlier, node)
    return [node('Cast', [part], [{ dtype: 'float32', shape: part.shape }], { to: 1 })[0]!]
  }
  const { bits, block } = form
  const [rows, columns] = [tile.to - tile.from, matrix.shape[1]]
  const blocks = rows * (columns / block)
  const numbers = cut(matrix.numbers(), tile, earlier, node)
  const scales = reshape(cut(matrix.scales(), tile, earlier), [blocks])
  const middles = graph.node('Expand', [byte(graph, MIDDLE[bits]), graph.ints([blocks])], [bytes(blocks)])[0]!
  const halves =
    bits === 8
      ? [numbers]
      : [
          node('BitwiseAnd', [numbers, byte(graph, 15)], [numbers])[0]!,
          node('BitShift', [numbers, byte(graph, 4)], [numbers], { direction: 'RIGHT' })[0]!,
        ]
  /** The first size is given as -1, or the runtime would know it. */
  const shaped = (value: Value, [first, last]: [number, number]): Value =>
    node('Reshape', [value, graph.ints([-1, last])], [{ dtype: value.dtype, shape: [first, last] }])[0]!
  return halves.map((half) => {
    const inBlocks = shaped(half, [blocks, block / halves.length])
    const [values] = node(
      'DequantizeLinear',
      [inBlocks, scales, middles],
      [{ dtype: 'float32', shape: inBlocks.shape }],
      { axis: 0 },
    )
    return shaped(values!, [rows, columns / halves.length])
  })
}

/** Adds nodes that make a tile's values. */
function nodesOf({ graph, shape }: StoredMatrix, { from, to }: Tile): Graph['node'] {
  const isWhole = to - from === shape[0]
  return (...given) => (isWhole ? graph.node(...given) : graph.unplannedNode(...given))
}

/** The columns of x [N, columns] at even and at odd places. */
function evenAndOdd(x: Value): Value[] {
  const [count, columns] = [x.shape[0]!, x.shape[1] as number]
  const pairs = reshape(x, [count, columns / 2, 2])
  return [0, 1].map((which) => reshape(slice(pairs, 2, which, which + 1), [count, columns / 2]))
}

/**
 * The rows of a tile. The slice waits for `earlier`: the runtime would merge slices at constant positions into one
 * operation, which copies all tiles at once.
 */
function cut(
  all: Value,
  { from, to }: Tile,
  earlier: Value,
  node: Graph['node'] = (...given) => all.graph.node(...given),
): Value {
  const { graph, dtype, shape } = all
  const start = graph.node(
    'Add',
    [zeroAfter(earlier), graph.ints([from])],
    [{ dtype: 'int64', shape: [1] }],
  )[0]!
  const places = [start, graph.ints([to]), graph.ints([0])]
  return node('Slice', [all, ...places], [{ dtype, shape: [to - from, ...shape.slice(1)] }])[0]!
}

/**
 * int64 [1]: 0, but only available after `earlier`. Made from its Size, because instead of its Shape the runtime may
 * take that of another value of the same shape, which may be there sooner.
 */
function zeroAfter(earlier: Value): Value {
  const { graph } = earlier
  const [size] = graph.node('Size', [earlier], [{ dtype: 'int64', shape: [] }])
  return graph.node('Mul', [size, graph.ints([0])], [{ dtype: 'int64', shape: [1] }])[0]!
}

const bytes = (length: number) => ({ dtype: 'uint8', shape: [length] }) as const

/** uint8 [1] */
function byte(graph: Graph, value: number): Value {
  return graph.node('Cast', [graph.constant(Int32Array.of(value), [1])], [bytes(1)], { to: 2 })[0]!
}

const hasMinimums = ({ form }: StoredMatrix): boolean => form.kind === 'blocks' && form.hasMinimums

function formOf({ form }: StoredMatrix): { block: number } {
  if (form.kind === 'halves') return refuse('tiles', 'halves have no blocks')
  return form
}
