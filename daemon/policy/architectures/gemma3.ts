// Gemma 3, text only: norms on queries and keys, and five layers with a sliding window for each full one. The two kinds
// of layers have different rotary frequencies. Gemma Team 2025.

import { type Architecture, type HuggingFaceConfig, positiveNumber, requireValue } from './architecture.ts'
import { gemmaSizes } from './gemma.ts'
import { plainFrequencies } from './rope.ts'

export const gemma3: Architecture = {
  name: 'Gemma3ForCausalLM',
  modelType: 'gemma3_text',
  models: 'Gemma 3 (text)',
  spec(config) {
    requireValue(config, 'use_bidirectional_attention', false)
    requireValue(config, 'attn_logit_softcapping')
    requireValue(config, 'final_logit_softcapping')
    const { full, local } = ropeOf(config)
    const { rope_scaling: _, rope_parameters: __, ...others } = config
    const spec = gemmaSizes({ rope_theta: 1_000_000, ...others, ...full }, { pattern: 6 })
    return {
      ...spec,
      queryKeyNorm: true,
      local: { ...spec.local!, ropeFrequencies: plainFrequencies(local, spec.headWidth) },
    }
  },
}

/** The rotary settings of the full layers, in config.json's plain layout, and the theta of the local layers. */
function ropeOf(config: HuggingFaceConfig): { full: HuggingFaceConfig; local: number } {
  const both = config.rope_parameters as Record<string, HuggingFaceConfig> | null | undefined
  // Transformers 5 has a separate object for each kind of layer.
  if (both?.full_attention && both.sliding_attention) {
    requireValue(both.sliding_attention, 'rope_type', 'default')
    return {
      full: { rope_parameters: both.full_attention },
      local: positiveNumber(both.sliding_attention, 'rope_theta', 10_000),
    }
  }
  const { rope_scaling, rope_parameters } = config
  return {
    full: { rope_scaling, rope_parameters },
    local: positiveNumber(config, 'rope_local_base_freq', 10_000),
  }
}
