// The trained tensors as one vector, in the order of their names: what heads are joined and packed as.

import { type DecoderSpec, trainableShapes } from '../../engine/decoder.ts'
import type { Weights } from '../../engine/weights.ts'

export type Vector = Float32Array

export interface Layout {
  /** Values of the vector. */
  size: number
  tensors: readonly { name: string; at: number; length: number }[]
}

export function layoutOf(spec: DecoderSpec): Layout {
  let size = 0
  const shapes = [...trainableShapes(spec)].sort(([a], [b]) => (a < b ? -1 : 1))
  const tensors = shapes.map(([name, shape]) => {
    const [at, length] = [size, shape.reduce((product, side) => product * side, 1)]
    size += length
    return { name, at, length }
  })
  return { size, tensors }
}

/** Copies the tensors of the layout. */
export function toVector({ size, tensors }: Layout, weights: Weights): Vector {
  const vector = new Float32Array(size)
  for (const { name, at } of tensors) vector.set(weights[name]!, at)
  return vector
}

/** Copies, because an engine may keep what it is given. */
export function toWeights({ tensors }: Layout, vector: Vector): Weights {
  return Object.fromEntries(tensors.map(({ name, at, length }) => [name, vector.slice(at, at + length)]))
}

/** 2-norm of a - b. */
export function distance(a: Vector, b: Vector): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2
  return Math.sqrt(sum)
}

/** 2-norm. */
export function norm(a: Vector): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i]! ** 2
  return Math.sqrt(sum)
}

/** into += factor · (a - b) */
export function addDifference(into: Vector, factor: number, a: Vector, b: Vector): void {
  for (let i = 0; i < into.length; i++) into[i]! += factor * (a[i]! - b[i]!)
}
