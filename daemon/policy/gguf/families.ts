// How GGUF describes each family: what goes into its config.json besides the sizes, and how its tensors differ.

import { layerTypes } from '../architectures/gemma.ts'
import { plainFrequencies, scaledFrequencies } from '../architectures/rope.ts'
import type { JsonObject } from '../files/model-files.ts'
import type { Facts } from './metadata.ts'

export interface GgufFamily {
  /** As in `general.architecture`. */
  name: string
  /** As in the `architectures` field of config.json. */
  architecture: string
  /** The entries of its config.json besides the sizes and the architecture. */
  config(of: FamilyFacts): JsonObject
  /** Rows of queries and keys are interleaved, because GGUF rotates neighbouring rows; Hugging Face rotates halves. */
  interleaved?: boolean
  /** Norms are stored as 1 + weight. */
  unitOffsetNorms?: boolean
  /** There are also norms after attention and after feed-forward. */
  postNorms?: boolean
}

interface FamilyFacts extends Facts {
  /** A number of this architecture, whose key in the file is the family's name, a dot, and `key`. */
  own(key: string): number | undefined
  width: number
  heads: number
  headWidth: number
  layers: number
  /** The values of `rope_freqs.weight`, by which the frequencies are divided. */
  ropeFactors: Float32Array | undefined
}

/** By default, every sixth layer has full attention. */
const GEMMA3_PATTERN = 6
/** Number of layers of Gemma's 27 B models, which scale queries by width / heads instead of the head width. */
const WIDE_LAYERS: Record<string, number> = { gemma2: 46, gemma3: 62 }

function queryScalar(family: string, { width, heads, headWidth, layers }: FamilyFacts): number {
  return layers === WIDE_LAYERS[family] ? width / heads : headWidth
}

export const GGUF_FAMILIES: readonly GgufFamily[] = [
  {
    name: 'llama',
    architecture: 'LlamaForCausalLM',
    interleaved: true,
    config: (of) => ({
      model_type: 'llama',
      hidden_act: 'silu',
      attention_bias: false,
      mlp_bias: false,
      ...ropeOf(of),
    }),
  },
  {
    name: 'qwen2',
    architecture: 'Qwen2ForCausalLM',
    config: (of) => ({
      model_type: 'qwen2',
      hidden_act: 'silu',
      use_sliding_window: false,
      ...ropeOf(of),
    }),
  },
  {
    name: 'qwen3',
    architecture: 'Qwen3ForCausalLM',
    config: (of) => ({
      model_type: 'qwen3',
      hidden_act: 'silu',
      attention_bias: false,
      use_sliding_window: false,
      ...ropeOf(of),
    }),
  },
  {
    name: 'gemma2',
    architecture: 'Gemma2ForCausalLM',
    unitOffsetNorms: true,
    postNorms: true,
    config: (of) => ({
      model_type: 'gemma2',
      hidden_activation: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: queryScalar('gemma2', of),
      sliding_window: of.own('attention.sliding_window') ?? 4096,
      layer_types: layerTypes(of.layers, 2),
      attn_logit_softcapping: of.own('attn_logit_softcapping') ?? 50,
      final_logit_softcapping: of.own('final_logit_softcapping') ?? 30,
      ...ropeOf(of),
    }),
  },
  {
    name: 'gemma3',
    architecture: 'Gemma3ForCausalLM',
    unitOffsetNorms: true,
    postNorms: true,
    config: (of) => ({
      model_type: 'gemma3_text',
      hidden_activation: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: queryScalar('gemma3', of),
      sliding_window: of.own('attention.sliding_window') ?? 512,
      layer_types: layerTypes(of.layers, of.own('attention.sliding_window_pattern') ?? GEMMA3_PATTERN),
      rope_local_base_freq: of.own('rope.freq_base_swa') ?? 10_000,
      final_logit_softcapping: of.own('final_logit_softcapping') ?? null,
      ...ropeOf(of, 1_000_000),
    }),
  },
]

/** As llama.cpp's loader reads them: linear unless said, the key of 2023 if there is no newer one, and 0 for none. */
function ropeOf(of: FamilyFacts, base = 10_000): JsonObject {
  const theta = of.own('rope.freq_base') ?? base
  if (of.ropeFactors) return { rope_theta: theta, rope_scaling: llama3Of(of, theta, of.ropeFactors) }
  const type = of.text(`${of.text('general.architecture')}.rope.scaling.type`) ?? 'linear'
  const factor = (of.own('rope.scaling.factor') ?? of.own('rope.scale_linear')) || 1
  const isPlain = type === 'none' || (type === 'linear' && factor === 1)
  return { rope_theta: theta, rope_scaling: isPlain ? null : { rope_type: type, factor } }
}

/**
 * Llama 3.1's converter keeps only the divisor of each frequency. All published models have the same bounds, so these
 * and the largest divisor are enough to restore the settings. Other divisors are refused.
 */
function llama3Of({ headWidth, fail }: FamilyFacts, theta: number, factors: Float32Array): JsonObject {
  const settings = {
    rope_type: 'llama3',
    factor: Math.max(...factors),
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  }
  const plain = plainFrequencies(theta, headWidth)
  const scaled = scaledFrequencies(plain, settings)
  const isSame = scaled.every((frequency, i) => Math.abs((frequency * factors[i]!) / plain[i]! - 1) < 1e-4)
  if (isSame && factors.length === plain.length) return settings
  throw fail(
    '"rope_freqs.weight" does not have the values of a Llama 3 model',
    'Look for a model of another family.',
  )
}
