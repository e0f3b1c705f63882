// What Gemma 2 and 3 share: scaled embeddings that are also the output matrix, norms of 1 + weight before and after
// attention and feed-forward, GELU, their own head width and query scale, and layers with sliding windows.

import type { DecoderSpec } from '../../engine/decoder.ts'
import { type HuggingFaceConfig, positiveNumber, requireValue } from './architecture.ts'
import { readSizes } from './sizes.ts'

/** If config.json does not list the kinds of layers, every `pattern`th layer has full attention. */
export function gemmaSizes(config: HuggingFaceConfig, { pattern }: { pattern: number }): DecoderSpec {
  requireValue(config, 'attention_bias', false)
  const layers = Number(config.num_hidden_layers)
  const every = Number(config.sliding_window_pattern ?? config._sliding_window_pattern ?? pattern)
  const listed = config.layer_types ?? (layers > 0 && layers <= 1024 ? layerTypes(layers, every) : undefined)
  const spec = readSizes(
    {
      ...config,
      head_dim: config.head_dim ?? 256,
      // Transformers' defaults for this family.
      hidden_act: config.hidden_activation ?? config.hidden_act ?? 'gelu_pytorch_tanh',
      tie_word_embeddings: config.tie_word_embeddings ?? true,
      layer_types: listed,
    },
    { activation: 'gelu-tanh', hasLocalLayers: true },
  )
  return {
    ...spec,
    unitOffsetNorms: true,
    postNorms: true,
    embeddingScale: Math.fround(Math.sqrt(spec.width)),
    attentionScale: positiveNumber(config, 'query_pre_attn_scalar', 256) ** -0.5,
  }
}

export function layerTypes(layers: number, pattern: number): string[] {
  return Array.from({ length: layers }, (_, i) =>
    (i + 1) % pattern === 0 ? 'full_attention' : 'sliding_attention',
  )
}
