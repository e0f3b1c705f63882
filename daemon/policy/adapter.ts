// LoRA adapters (Hu et al. 2021) as plain data: initial values, and merging into a model. The engine trains adapters;
// peft.ts reads and writes PEFT's files.

import { type AdapterSpec, adapterNames, adapterShapes, type DecoderSpec } from '../engine/decoder.ts'
import { asFloats, type BaseWeights } from '../engine/stored/stored.ts'
import type { Weights } from '../engine/weights.ts'

/** Uniform in [0, 1). */
export type Random = () => number

/**
 * PEFT's initial values: A uniform within ±1/sqrt(in) (Kaiming with a = sqrt 5), B zero, so at first nothing changes.
 */
export function initialAdapter(spec: DecoderSpec, random: Random): Weights {
  const weights: Weights = {}
  for (const [name, [rows, columns]] of adapterShapes(spec) as Map<string, [number, number]>) {
    const values = new Float32Array(rows * columns)
    if (name.endsWith('.lora_A.weight')) {
      const bound = 1 / Math.sqrt(columns)
      for (let i = 0; i < values.length; i++) values[i] = (2 * random() - 1) * bound
    }
    weights[name] = values
  }
  return weights
}

/** One tensor with its adapter merged, W + alpha / rank * B A, so that a model can be written without holding all of it twice. */
export function mergedTensor(
  name: string,
  shape: readonly number[],
  weights: BaseWeights,
  { alpha, rank }: AdapterSpec,
): Float32Array {
  const base = asFloats(weights[name]!)
  const { a, b } = adapterNames(name)
  if (!weights[a] || !weights[b]) return base
  const [down, up] = [asFloats(weights[a]), asFloats(weights[b])]
  const [rows, columns] = shape as [number, number]
  const out = new Float32Array(base.length)
  const row = new Float64Array(columns)
  for (let i = 0; i < rows; i++) {
    row.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = up[i * rank + r]!
      for (let j = 0; j < columns; j++) row[j]! += factor * down[r * columns + j]!
    }
    const at = i * columns
    for (let j = 0; j < columns; j++) out[at + j] = base[at + j]! + (alpha / rank) * row[j]!
  }
  return out
}
