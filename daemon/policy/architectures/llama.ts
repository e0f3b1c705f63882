// Llama: RMSNorm, rotary embeddings, grouped-query attention, SwiGLU, no biases. Touvron et al. 2023.

import { WaggleError } from '../../../protocol/errors.ts'
import {
  type Architecture,
  plainFrequencies,
  positiveNumber,
  requireValue,
  wholeNumber,
} from './architecture.ts'

export const llama: Architecture = {
  name: 'LlamaForCausalLM',
  spec(config) {
    const width = wholeNumber(config, 'hidden_size')
    const heads = wholeNumber(config, 'num_attention_heads')
    const kvHeads = wholeNumber(config, 'num_key_value_heads', heads)
    const headWidth = wholeNumber(config, 'head_dim', width / heads)
    if (heads % kvHeads !== 0) {
      throw new WaggleError(
        'E_MODEL',
        `config.json: ${heads} query heads cannot share ${kvHeads} key heads evenly`,
      )
    }
    if (headWidth % 2 !== 0) throw new WaggleError('E_MODEL', `config.json: head width ${headWidth} is odd`)
    requireValue(config, 'hidden_act', 'silu')
    requireValue(config, 'attention_bias', false)
    requireValue(config, 'mlp_bias', false)
    requireValue(config, 'rope_scaling')
    return {
      vocabulary: wholeNumber(config, 'vocab_size'),
      width,
      layers: wholeNumber(config, 'num_hidden_layers'),
      heads,
      kvHeads,
      headWidth,
      feedForward: wholeNumber(config, 'intermediate_size'),
      normEpsilon: positiveNumber(config, 'rms_norm_eps', 1e-6),
      ropeFrequencies: plainFrequencies(positiveNumber(config, 'rope_theta', 10_000), headWidth),
      contextLength: wholeNumber(config, 'max_position_embeddings', 2048),
      tiedEmbeddings: config.tie_word_embeddings === true,
      attentionBias: false,
      queryKeyNorm: false,
    }
  },
}
