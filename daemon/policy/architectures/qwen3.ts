// Qwen3: queries and keys are normed head by head before they are rotated, heads have a width of their own, and there
// are no biases. Yang et al. 2025.

import { type Architecture, requireValue } from './architecture.ts'
import { readSizes } from './sizes.ts'

export const qwen3: Architecture = {
  name: 'Qwen3ForCausalLM',
  modelType: 'qwen3',
  models: 'Qwen3 (dense)',
  spec(config) {
    requireValue(config, 'attention_bias', false)
    // What the family's configuration takes where a file does not say.
    return {
      ...readSizes({ ...config, head_dim: config.head_dim ?? 128 }),
      attentionBias: false,
      queryKeyNorm: true,
    }
  },
}
