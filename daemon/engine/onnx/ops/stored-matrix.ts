// A matrix that is an input of a graph, in the form in which its weights are stored.

import type { Form } from '../../stored/stored.ts'
import type { Graph, Value } from '../graph/graph.ts'

/** The inputs that hold a stored matrix. Those of quantized blocks have the shapes that the operations need. */
export interface StoredMatrix {
  readonly graph: Graph
  readonly shape: readonly [rows: number, columns: number]
  readonly form: Form
  readonly tileBytes: number
  readonly packing: Packing | undefined
  /** float16 [rows, columns] */
  halves(): Value
  /** uint8 [rows, blocks, bytes] */
  numbers(): Value
  /** [rows, blocks] each */
  scales(): Value
  minimums(): Value
  /** The same memory in the shapes for taking rows; the numbers are uint8 [rows, blocks * bytes] */
  rowNumbers(): Value
  rowScales(): Value
  rowMinimums(): Value
}

/** What packed blocks are multiplied by: floats, or values rounded to 8 bits block by block, which is faster. */
export type Packing = 'floats' | 'bytes'
