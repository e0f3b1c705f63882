// The operations of Waggle's graphs, each with its vector-Jacobian product. Shapes broadcast as in NumPy, but a
// symbolic size never counts as 1. Fused building blocks of a decoder are in `blocks.ts`.

export {
  abs,
  add,
  detach,
  div,
  equal,
  exp,
  less,
  log,
  max,
  min,
  mul,
  neg,
  sigmoid,
  sqrt,
  sub,
  tanh,
  where,
} from '../ops/elementwise.ts'
export { addPerRow, asIndices, gatherRows, likeliest, pickPerRow, severalPerRow } from '../ops/indexing.ts'
export {
  declareStored,
  type Matrix,
  project,
  rowsOf,
  type StoredOptions,
  unproject,
} from '../ops/matrices.ts'
export { gemm, matmul } from '../ops/products.ts'
export {
  afterwards,
  cumulate,
  reduceMax,
  reduceMean,
  rowSums,
  softmax,
  sum,
  sumOfSquares,
  weightedMeans,
} from '../ops/reductions.ts'
export { concat, expand, pad, reduceSum, reshape, slice, split, swapLast, transpose } from '../ops/shapes.ts'
export type { Packing } from '../ops/stored-matrix.ts'
