// The trained tensors as one vector, in the order of their names: what heads are joined and packed as.

import { type DecoderSpec, trainableShapes } from '../../engine/decoder.ts'
import { inParts, sumOfParts } from '../../engine/parts.ts'
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
  return Math.sqrt(sumOfParts(a.length, (from, to) => squaredDistance(a, b, from, to)))
}

function squaredDistance(a: Vector, b: Vector, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) {
    const apart = a[i]! - b[i]!
    sum += apart * apart
  }
  return sum
}

/** 2-norm. */
export function norm(a: Vector): number {
  return Math.sqrt(sumOfParts(a.length, (from, to) => squaredNorm(a, from, to)))
}

function squaredNorm(a: Vector, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += a[i]! * a[i]!
  return sum
}

/** into += factor · (a - b) */
export function addDifference(into: Vector, factor: number, a: Vector, b: Vector): void {
  inParts(into.length, (from, to) => addPart(into, factor, a, b, from, to))
}

function addPart(into: Vector, factor: number, a: Vector, b: Vector, from: number, to: number): void {
  for (let i = from; i < to; i++) into[i]! += factor * (a[i]! - b[i]!)
}
