// The trained parameters of a model in one block of memory, with a view for each tensor. The optimizer works through
// the block in parts that fit into the processor's cache, regardless of where tensors begin.

import type { Weights } from '../../weights.ts'

/** Tensors start at multiples of this many elements (a cache line). The gaps stay zero. */
const ALIGNMENT = 16

export interface Layout {
  names: readonly string[]
  start: ReadonlyMap<string, number>
  shapes: ReadonlyMap<string, readonly number[]>
  /** Elements before this belong to matrices, which get weight decay; norms and biases follow. */
  decayed: number
  size: number
}

export interface Arena {
  /** All tensors, one after another. */
  flat: Float32Array
  /** The same memory by name. */
  views: Weights
}

export function layoutOf(shapes: ReadonlyMap<string, readonly number[]>): Layout {
  const start = new Map<string, number>()
  let size = 0
  const place = (isMatrix: boolean): void => {
    for (const [name, shape] of shapes) {
      if (shape.length > 1 !== isMatrix) continue
      start.set(name, size)
      size += Math.ceil(product(shape) / ALIGNMENT) * ALIGNMENT
    }
  }
  place(true)
  const decayed = size
  place(false)
  return { names: [...shapes.keys()], start, shapes, decayed, size }
}

/** An arena of zeros. */
export function createArena({ names, start, shapes, size }: Layout): Arena {
  const flat = new Float32Array(size)
  const views: Weights = {}
  for (const name of names) {
    const from = start.get(name)!
    views[name] = flat.subarray(from, from + product(shapes.get(name)!))
  }
  return { flat, views }
}

/** Copies tensors that have been checked against the layout. */
export function fillArena({ views }: Arena, values: Weights): void {
  for (const [name, view] of Object.entries(views)) view.set(values[name]!)
}

export function copyArena({ views }: Arena): Weights {
  return Object.fromEntries(Object.entries(views).map(([name, values]) => [name, values.slice()]))
}

function product(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1)
}
