// Gemma 2: adds to Gemma's common parts a sliding window in every other layer, and soft caps on attention scores and
// logits. Gemma Team 2024.

import { type Architecture, positiveNumber, requireValue } from './architecture.ts'
import { gemmaSizes } from './gemma.ts'

export const gemma2: Architecture = {
  name: 'Gemma2ForCausalLM',
  modelType: 'gemma2',
  models: 'Gemma 2',
  spec(config) {
    requireValue(config, 'use_bidirectional_attention', false)
    return {
      ...gemmaSizes(config, { pattern: 2 }),
      attentionSoftCap: positiveNumber(config, 'attn_logit_softcapping', 50),
      logitSoftCap: positiveNumber(config, 'final_logit_softcapping', 30),
    }
  },
}
