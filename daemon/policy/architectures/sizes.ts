// What the families have in common: an RMSNorm decoder with rotary embeddings, grouped-query attention and SwiGLU.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'
import { type HuggingFaceConfig, positiveNumber, requireValue, show, wholeNumber } from './architecture.ts'
import { ropeFrequencies } from './rope.ts'

/** Far beyond any model there is; a file that says more is broken. */
const MOST_LAYERS = 1024
const MOST_HEADS = 4096

/** All but the two switches in which families differ. Throws E_MODEL, with what is wrong. */
export function readSizes(config: HuggingFaceConfig): Omit<DecoderSpec, 'attentionBias' | 'queryKeyNorm'> {
  requireValue(config, 'hidden_act', 'silu')
  requireValue(config, 'quantization_config')
  requireValue(config, 'use_sliding_window', false)
  requireValue(config, 'tie_word_embeddings', true, false)
  requireFullAttention(config)
  const width = wholeNumber(config, 'hidden_size')
  const heads = wholeNumber(config, 'num_attention_heads', { most: MOST_HEADS })
  const kvHeads = wholeNumber(config, 'num_key_value_heads', { fallback: heads, most: MOST_HEADS })
  const headWidth = wholeNumber(config, 'head_dim', { fallback: width / heads, most: 2 ** 16 })
  if (heads % kvHeads !== 0) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: ${heads} query heads cannot share ${kvHeads} key heads evenly`,
    )
  }
  if (headWidth % 2 !== 0) throw new WaggleError('E_MODEL', `config.json: head width ${headWidth} is odd`)
  return {
    vocabulary: wholeNumber(config, 'vocab_size'),
    width,
    layers: wholeNumber(config, 'num_hidden_layers', { most: MOST_LAYERS }),
    heads,
    kvHeads,
    headWidth,
    feedForward: wholeNumber(config, 'intermediate_size'),
    normEpsilon: positiveNumber(config, 'rms_norm_eps', 1e-6),
    ropeFrequencies: ropeFrequencies(config, headWidth),
    contextLength: wholeNumber(config, 'max_position_embeddings'),
    tiedEmbeddings: config.tie_word_embeddings === true,
  }
}

function requireFullAttention({ layer_types: types }: HuggingFaceConfig): void {
  if (types === undefined || types === null) return
  const other = Array.isArray(types) ? types.find((type) => type !== 'full_attention') : types
  if (other === undefined) return
  throw new WaggleError('E_MODEL', `config.json: "layer_types" has ${show(other)}, which is not supported`, {
    hint: 'Supported here: "full_attention".',
  })
}
