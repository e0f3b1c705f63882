// What an engine is, and what it is opened with.

import type { DecoderSpec } from './decoder.ts'
import type { TokenBytes } from './grammar/grammar.ts'
import type { BaseWeights } from './stored/stored.ts'
import type { OptimizerState } from './weights.ts'

export interface EngineInfo {
  kind: string
  device: string
  /** Why this device was chosen, in words. */
  reason: string
  threads: number
}

export interface OpenRequest {
  spec: DecoderSpec
  /** Weights that are not trained may be quantized. */
  weights: BaseWeights
  /** AdamW's first and second moments and the number of steps they have seen. Zero if left out. */
  optimizer?: OptimizerState
  /** Version of these weights, which samples will carry. 0 if left out. */
  version?: number
  /** The text of each token id on its own, needed for stop strings. */
  pieces?: readonly string[]
  /** The bytes of each token id, needed for grammars. */
  tokenBytes?: TokenBytes
}
