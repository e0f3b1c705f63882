// The full state of a training run, as receipts name it: trained tensors and optimizer moments in float32, each as one
// vector in the order of the tensors' names.

import { createHash } from 'node:crypto'
import type { StateHashes } from '../../../protocol/wire/index.ts'
import type { OptimizerState, Weights } from '../../engine/weights.ts'
import { type Layout, toVector, toWeights, type Vector } from '../heads/vector.ts'

export interface FullState {
  /** Optimizer steps that the moments have seen. */
  steps: number
  /** [values] */
  weights: Vector
  /** [2 x values]: the first moments, then the second. */
  moments: Vector
}

export function stateOf(
  layout: Layout,
  weights: Weights,
  { steps, first, second }: OptimizerState,
): FullState {
  const moments = new Float32Array(2 * layout.size)
  moments.set(toVector(layout, first))
  moments.set(toVector(layout, second), layout.size)
  return { steps, weights: toVector(layout, weights), moments }
}

/** What training begins with: no step yet, and empty moments. */
export function firstState({ size }: Layout, origin: Vector): StateHashes {
  return hashesOf({ steps: 0, weights: origin, moments: new Float32Array(2 * size) })
}

/** Copies. */
export function tensorsOf(
  layout: Layout,
  { steps, weights, moments }: FullState,
): { weights: Weights; optimizer: OptimizerState } {
  return {
    weights: toWeights(layout, weights),
    optimizer: {
      steps,
      first: toWeights(layout, moments.subarray(0, layout.size)),
      second: toWeights(layout, moments.subarray(layout.size)),
    },
  }
}

export function hashesOf({ steps, weights, moments }: FullState): StateHashes {
  return { steps, weights: hashOf(bytesOf(weights)), moments: hashOf(bytesOf(moments)) }
}

/** SHA-256, 64 hex digits. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The same memory. Little-endian, as all machines are that Waggle runs on. */
export function bytesOf({ buffer, byteOffset, byteLength }: Vector): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** The same memory if it is aligned, else a copy. Undefined if it is not so many floats, or one is not finite. */
export function vectorIn(bytes: Uint8Array<ArrayBuffer>, values: number): Vector | undefined {
  if (bytes.length !== 4 * values) return undefined
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes)
  const vector = new Float32Array(buffer, byteOffset, values)
  return vector.every(Number.isFinite) ? vector : undefined
}
