// Qwen3: RMSNorm on each query and key head before the rotary embedding, a head width independent of the model's width,
// and no biases. Yang et al. 2025.

import { type Architecture, requireValue } from './architecture.ts'
import { readSizes } from './sizes.ts'

export const qwen3: Architecture = {
  name: 'Qwen3ForCausalLM',
  modelType: 'qwen3',
  models: 'Qwen3 (dense)',
  spec(config) {
    requireValue(config, 'attention_bias', false)
    // The family's default head width.
    return { ...readSizes({ ...config, head_dim: config.head_dim ?? 128 }), queryKeyNorm: true }
  },
}
