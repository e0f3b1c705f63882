// Qwen2 and Qwen2.5: the query, key and value projections always have biases. Yang et al. 2024.

import { type Architecture, requireValue } from './architecture.ts'
import { readSizes } from './sizes.ts'

export const qwen2: Architecture = {
  name: 'Qwen2ForCausalLM',
  modelType: 'qwen2',
  models: 'Qwen2, Qwen2.5',
  spec(config) {
    // Vision models' rotary positions for images and video.
    requireValue(config, 'use_mrope', false)
    return { ...readSizes(config), attentionBias: true }
  },
}
