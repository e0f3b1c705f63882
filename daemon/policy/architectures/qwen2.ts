// Qwen2 and Qwen2.5: biases on the query, key and value projections, always. Yang et al. 2024.

import type { Architecture } from './architecture.ts'
import { readSizes } from './sizes.ts'

export const qwen2: Architecture = {
  name: 'Qwen2ForCausalLM',
  modelType: 'qwen2',
  models: 'Qwen2, Qwen2.5',
  spec: (config) => ({ ...readSizes(config), attentionBias: true, queryKeyNorm: false }),
}
