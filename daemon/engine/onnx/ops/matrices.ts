// Products with a model's matrices [rows, columns], which may be F32, quantized or F16. A stored matrix is never in
// memory as F32 as a whole: it is processed in tiles of rows, and a tile's F32 values are freed after its product. The
// gradient of the other factor is the one for the F32 values; the matrix itself has a gradient only if it is F32.
//
// A sampling graph may declare the blocks as fixed inputs instead. The runtime then packs them once, into a layout of
// its own, and multiplies by the whole matrix without ever making it F32.

import type { Form } from '../../stored/stored.ts'
import { type Dimension, times } from '../graph/dimension.ts'
import { type Graph, refuse, type Value } from '../graph/graph.ts'
import { add } from './elementwise.ts'
import { gatherRows } from './indexing.ts'
import { gemm } from './products.ts'
import { concat, reduceSum, reshape, slice } from './shapes.ts'
import type { Packing, StoredMatrix } from './stored-matrix.ts'
import { blockSums, projectTile, tilesOf, unprojectTile } from './tiles.ts'

/** Default limit on the bytes of a tile's F32 values. */
const TILE_BYTES = 64 * 2 ** 20

export type Matrix = Value | StoredMatrix

export interface StoredOptions {
  tileBytes?: number
  /** If set, the blocks are fixed inputs of the graph, which then multiplies by the whole matrix at once. */
  packing?: Packing | undefined
}

export function declareStored(
  graph: Graph,
  name: string,
  shape: readonly [number, number],
  form: Form,
  { tileBytes = TILE_BYTES, packing }: StoredOptions = {},
): StoredMatrix {
  const declared = new Map<string, Value>()
  const once = (part: string, declare: () => Value): Value => {
    const value = declared.get(part) ?? declare()
    declared.set(part, value)
    return value
  }
  const input = (part: string, dtype: Value['dtype'], of: readonly number[]): Value =>
    once(part, () => graph.input(`${name}.${part}`, dtype, of))
  const [rows, columns] = shape
  if (form.kind === 'halves') {
    const none = (): never => refuse('declareStored', `${name} has no blocks`)
    const halves = () => input('halves', 'float16', shape)
    return {
      graph,
      shape,
      form,
      tileBytes,
      packing: undefined,
      halves,
      ...{ numbers: none, scales: none, minimums: none },
      ...{ rowNumbers: none, rowScales: none, rowMinimums: none },
    }
  }
  const blocks = columns / form.block
  const bytes = (form.block * form.bits) / 8
  const factor = (part: string, dtype: Value['dtype'], of: readonly number[]): Value =>
    packing ? once(part, () => graph.fixedInput(`${name}.${part}`, dtype, of)) : input(part, dtype, of)
  return {
    graph,
    shape,
    form,
    tileBytes,
    packing,
    halves: () => refuse('declareStored', `${name} has no halves`),
    numbers: () => factor('numbers', 'uint8', [rows, blocks, bytes]),
    scales: () => factor('scales', 'float32', [rows, blocks]),
    minimums: () => factor('minimums', 'float32', [rows, blocks]),
    rowNumbers: () => input('rowNumbers', 'uint8', [rows, blocks * bytes]),
    rowScales: () => input('rowScales', 'float32', [rows, blocks]),
    rowMinimums: () => input('rowMinimums', 'float32', [rows, blocks]),
  }
}

function isStored(matrix: Matrix): matrix is StoredMatrix {
  return 'form' in matrix
}

/** x Wᵀ for x [N, columns]: [N, rows]. */
export function project(x: Value, matrix: Matrix): Value {
  if (!isStored(matrix)) return gemm(x, matrix, { transposeB: true })
  // Off the tape, because one gradient rule below covers the whole product.
  const { tape } = x.graph
  const start = tape.length
  const product = matrix.packing ? packedProduct(x, matrix, matrix.packing) : tiledProduct(x, matrix)
  tape.length = start
  x.graph.record([x], [product], ([g]) => [g && unproject(g, matrix)])
  return product
}

function tiledProduct(x: Value, matrix: StoredMatrix): Value {
  const products: Value[] = []
  for (const tile of tilesOf(matrix)) products.push(projectTile(x, matrix, tile, products.at(-1) ?? x))
  return products.length === 1 ? products[0]! : concat(products, 1)
}

/** g W for g [N, rows]: [N, columns]. */
export function unproject(g: Value, matrix: Matrix): Value {
  if (!isStored(matrix)) return gemm(g, matrix)
  let sum: Value | undefined
  for (const tile of tilesOf(matrix)) {
    const part = slice(g, 1, tile.from, tile.to)
    const product = unprojectTile(part, matrix, tile, sum ?? part)
    sum = sum ? add(sum, product) : product
  }
  return sum!
}

/** Rows by index (int32 [N]): [N, columns]. */
export function rowsOf(matrix: Matrix, indices: Value): Value {
  if (!isStored(matrix)) return gatherRows(matrix, indices)
  if (matrix.form.kind === 'blocks') return dequantizeRows(matrix, indices)
  const halves = gatherRows(matrix.halves(), indices)
  return halves.graph.node('Cast', [halves], [{ dtype: 'float32', shape: halves.shape }], { to: 1 })[0]!
}

/** x Wᵀ by a product that never makes the blocks F32. */
function packedProduct(x: Value, matrix: StoredMatrix, packing: Packing): Value {
  const { form } = matrix
  if (form.kind !== 'blocks') return refuse('packedProduct', 'needs blocks', x)
  // The runtime has a fast product with 8-bit blocks only for inputs rounded to 8 bits.
  const product =
    packing === 'floats' && form.bits === 8 ? inTwoParts(x, matrix) : blocksProduct(x, matrix, packing)
  if (!form.hasMinimums) return product
  return gemm(blockSums(x, matrix), matrix.minimums(), { transposeB: true, plus: product })
}

/** MatMulNBits' values of `accuracy_level`. */
const LEVELS: Record<Packing, number> = { floats: 1, bytes: 4 }

function blocksProduct(
  x: Value,
  { graph, shape: [rows, columns], form, ...matrix }: StoredMatrix,
  packing: Packing,
): Value {
  if (form.kind !== 'blocks') return refuse('blocksProduct', 'needs blocks', x)
  const { bits, block } = form
  return graph.node(
    'MatMulNBits',
    [x, matrix.numbers(), matrix.scales()],
    [{ dtype: 'float32', shape: [x.shape[0]!, rows] }],
    { K: columns, N: rows, bits, block_size: block, accuracy_level: LEVELS[packing] },
    'com.microsoft',
  )[0]!
}

/**
 * x Wᵀ by products that round x to 8 bits. x is split into a part that 8 bits represent exactly and a rest. The rest is
 * at most 1/254 of the block's largest value, and its own rounding is as fine again. Relative errors are about 2e-5.
 */
function inTwoParts(x: Value, matrix: StoredMatrix): Value {
  const { graph, form, shape } = matrix
  if (form.kind !== 'blocks') return refuse('inTwoParts', 'needs blocks', x)
  const [count, columns] = x.shape as [Dimension, number]
  const blocks = reshape(x, [count, columns / form.block, form.block])
  const made = (op: string, inputs: Value[], of = inputs[0]!.shape): Value =>
    graph.node(op, inputs, [{ dtype: 'float32', shape: of }])[0]!
  const ofBlocks = [count, columns / form.block, 1]
  const largest = made('ReduceMax', [made('Abs', [blocks]), graph.ints([2])], ofBlocks)
  // Avoids dividing a block of zeros by 0.
  const scale = made('Max', [made('Mul', [largest, graph.scalar(1 / 127)]), graph.scalar(1e-30)])
  const whole = made('Mul', [made('Round', [made('Div', [blocks, scale])]), scale])
  const parts = concat([whole, made('Sub', [blocks, whole])], 0)
  const rows = reshape(parts, [times(count, 2), columns])
  const both = blocksProduct(rows, matrix, 'bytes')
  return reduceSum(reshape(both, [2, count, shape[0]]), [0])
}

function dequantizeRows(matrix: StoredMatrix, indices: Value): Value {
  const { graph, form } = matrix
  if (form.kind !== 'blocks') return refuse('dequantizeRows', 'needs blocks')
  const [count, columns] = [indices.shape[0]!, matrix.shape[1]]
  const [product] = graph.node(
    'GatherBlockQuantized',
    [matrix.rowNumbers(), indices, matrix.rowScales()],
    [{ dtype: 'float32', shape: [count, columns] }],
    { gather_axis: 0, quantize_axis: 1, block_size: form.block, bits: form.bits },
    'com.microsoft',
  )
  if (!form.hasMinimums) return product!
  const shape = [count, columns / form.block, form.block]
  const [minimums] = graph.node(
    'Gather',
    [matrix.rowMinimums(), indices],
    [{ dtype: 'float32', shape: shape.slice(0, 2) }],
    { axis: 0 },
  )
  const whole = add(reshape(product!, shape), reshape(minimums!, [...shape.slice(0, 2), 1]))
  return reshape(whole, [count, columns])
}
