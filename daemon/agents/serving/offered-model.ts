// The model that answers calls: what clients may know of it, and what bounds their calls.

import { type DecoderSpec, parameterCount } from '../../engine/decoder.ts'

export interface OfferedModel {
  /** The name by which clients may ask for it. */
  model: string
  /** Of its weights. */
  digest: string
  parameters: number
  vocabulary: number
  /** Most tokens of prompt and answer together. */
  context: number
  /** The most that the model could read. */
  modelContext: number
}

export function offeredModel(
  { spec, digest }: { spec: DecoderSpec; digest: string },
  { model, context = spec.contextLength }: { model: string; context?: number | undefined },
): OfferedModel {
  return {
    ...{ model, digest, parameters: parameterCount(spec) },
    ...{ vocabulary: spec.vocabulary, context, modelContext: spec.contextLength },
  }
}
