// A small random decoder for engine tests.

import { adapterShapes, type DecoderSpec, parameterShapes } from '../../daemon/engine/decoder.ts'
import type { Weights } from '../../daemon/engine/weights.ts'

export const SPEC: DecoderSpec = {
  vocabulary: 23,
  width: 16,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headWidth: 4,
  feedForward: 24,
  normEpsilon: 1e-5,
  ropeFrequencies: [1, 0.1],
  contextLength: 96,
  tiedEmbeddings: true,
  attentionBias: false,
  queryKeyNorm: false,
}

/** Graphs that cut nothing into parts. */
export const WHOLE = { head: 1, segments: 1, prefixes: 1 }

export function uniform(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export function randomWeights(spec: DecoderSpec, seed: number, scale = 0.5): Weights {
  const random = uniform(seed)
  const weights: Weights = {}
  for (const [name, shape] of [...parameterShapes(spec), ...adapterShapes(spec)]) {
    const size = shape.reduce((a, b) => a * b, 1)
    const center = name.endsWith('norm.weight') ? 1 : 0
    weights[name] = Float32Array.from({ length: size }, () => center + (random() * 2 - 1) * scale)
  }
  return weights
}

export function randomTokens(spec: DecoderSpec, length: number, seed: number): Int32Array {
  const random = uniform(seed)
  return Int32Array.from({ length }, () => Math.floor(random() * spec.vocabulary))
}

export const ADAMW = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
}

/** For tokenizers of tests without text. */
export const tokenBytes = (vocabulary: number) => ({
  bytes: new Uint8Array(),
  ends: new Int32Array(vocabulary),
})
