// Llama: no biases anywhere. Touvron et al. 2023; SmolLM2 has the same architecture.

import { type Architecture, requireValue } from './architecture.ts'
import { readSizes } from './sizes.ts'

export const llama: Architecture = {
  name: 'LlamaForCausalLM',
  modelType: 'llama',
  models: 'Llama 2, 3, 3.1 and 3.2, SmolLM2',
  spec(config) {
    // In this family the setting adds biases to all four projections. No published model uses that.
    requireValue(config, 'attention_bias', false)
    requireValue(config, 'mlp_bias', false)
    requireValue(config, 'rope_interleaved', false)
    return readSizes(config)
  },
}
