// Random initial weights of a decoder, determined by a seed.

import { type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import type { Random } from '../../protocol/plugin/index.ts'

/** Mulberry32: small, seeded, good enough to draw examples and weights. */
export function randomFrom(seed: number): Random {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = a
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Embeddings are normal with standard deviation 0.02, as in GPT-2, matrices with 1/sqrt(inputs); projections back
 * into the residual stream less, by 1/sqrt(2 x layers).
 */
export function initialWeights(spec: DecoderSpec, random: Random): Weights {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const weights: Weights = {}
  for (const [name, shape] of parameterShapes(spec)) {
    const size = shape.reduce((a, b) => a * b, 1)
    if (name.endsWith('norm.weight')) weights[name] = new Float32Array(size).fill(1)
    else {
      const toResidual = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
      const deviation = name.includes('embed')
        ? 0.02
        : shape[1]! ** -0.5 * (toResidual ? (2 * spec.layers) ** -0.5 : 1)
      weights[name] = Float32Array.from({ length: size }, () => normal() * deviation)
    }
  }
  return weights
}
