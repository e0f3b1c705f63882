// Shared by all families: a decoder with RMSNorm, rotary embeddings, grouped-query attention and SwiGLU.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Activation, DecoderSpec, LocalLayers } from '../../engine/decoder.ts'
import { type HuggingFaceConfig, positiveNumber, requireValue, show, wholeNumber } from './architecture.ts'
import { ropeFrequencies } from './rope.ts'

/** Names in `hidden_act`. */
const ACTIVATIONS: Record<Activation, string> = { silu: 'silu', 'gelu-tanh': 'gelu_pytorch_tanh' }

interface FamilyOptions {
  /** The only activation that the family has; 'silu' by default. */
  activation?: Activation
  /** The family may have layers with sliding windows, given by `layer_types` and `sliding_window`. */
  hasLocalLayers?: boolean
}

/** Far above any published model; a file with larger values is broken. */
const MAX_LAYERS = 1024
const MAX_HEADS = 4096

/**
 * The spec of a plain decoder with the sizes in config.json, to which a family adds its differences. Throws E_MODEL for
 * an invalid size and for a setting that would change the computation.
 */
export function readSizes(
  config: HuggingFaceConfig,
  { activation = 'silu', hasLocalLayers = false }: FamilyOptions = {},
): DecoderSpec {
  requireValue(config, 'hidden_act', ACTIVATIONS[activation])
  requireValue(config, 'quantization_config')
  requireValue(config, 'use_sliding_window', false)
  requireValue(config, 'tie_word_embeddings', true, false)
  if (!hasLocalLayers) requireFullAttention(config)
  const width = wholeNumber(config, 'hidden_size')
  const heads = wholeNumber(config, 'num_attention_heads', { most: MAX_HEADS })
  const kvHeads = wholeNumber(config, 'num_key_value_heads', { fallback: heads, most: MAX_HEADS })
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
    layers: wholeNumber(config, 'num_hidden_layers', { most: MAX_LAYERS }),
    heads,
    kvHeads,
    headWidth,
    feedForward: wholeNumber(config, 'intermediate_size'),
    normEpsilon: positiveNumber(config, 'rms_norm_eps', 1e-6),
    ropeFrequencies: ropeFrequencies(config, headWidth),
    contextLength: wholeNumber(config, 'max_position_embeddings'),
    tiedEmbeddings: config.tie_word_embeddings === true,
    attentionBias: false,
    queryKeyNorm: false,
    ...(activation === 'silu' ? {} : { activation }),
    ...(hasLocalLayers ? { local: localLayers(config) } : {}),
  }
}

function localLayers({ layer_types: types, ...config }: HuggingFaceConfig): LocalLayers {
  const layers = wholeNumber(config, 'num_hidden_layers', { most: MAX_LAYERS })
  const isKnown = (type: unknown): boolean => type === 'full_attention' || type === 'sliding_attention'
  if (!Array.isArray(types) || types.length !== layers || !types.every(isKnown)) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: "layer_types" must have "full_attention" or "sliding_attention" for each of ${layers} layers`,
    )
  }
  return {
    window: wholeNumber(config, 'sliding_window'),
    layers: types.flatMap((type, layer) => (type === 'sliding_attention' ? [layer] : [])),
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
