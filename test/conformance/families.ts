// A tiny model of each family, from a config.json as its publisher writes it. Read by the same code as a real one.

import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'

const SIZES = {
  vocab_size: 23,
  hidden_size: 16,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 24,
  hidden_act: 'silu',
  rms_norm_eps: 1e-5,
  max_position_embeddings: 96,
  rope_scaling: null,
}
const LLAMA = {
  ...SIZES,
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  attention_bias: false,
  mlp_bias: false,
}

export const CONFIGS = {
  'Llama 2': { ...LLAMA, num_key_value_heads: 4, rope_theta: 10_000, tie_word_embeddings: false },
  // Wavelengths of 6, 30, 141 and 664 tokens: the first stays, the second is blended, the others are stretched.
  'Llama 3.2': {
    ...LLAMA,
    head_dim: 8,
    num_attention_heads: 2,
    num_key_value_heads: 1,
    rope_theta: 500,
    rope_scaling: {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 64,
    },
    tie_word_embeddings: true,
  },
  SmolLM2: {
    ...LLAMA,
    hidden_size: 12,
    num_attention_heads: 3,
    num_key_value_heads: 1,
    rope_interleaved: false,
    rope_theta: 100_000,
    tie_word_embeddings: true,
  },
  'Qwen2.5': {
    ...SIZES,
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    num_key_value_heads: 1,
    rms_norm_eps: 1e-6,
    rope_theta: 1_000_000,
    sliding_window: 32_768,
    use_sliding_window: false,
    max_window_layers: 2,
    tie_word_embeddings: false,
  },
  Qwen3: {
    ...SIZES,
    architectures: ['Qwen3ForCausalLM'],
    model_type: 'qwen3',
    head_dim: 8,
    attention_bias: false,
    rms_norm_eps: 1e-6,
    rope_theta: 1_000_000,
    sliding_window: null,
    use_sliding_window: false,
    tie_word_embeddings: true,
  },
  'Gemma 2': {
    ...SIZES,
    architectures: ['Gemma2ForCausalLM'],
    model_type: 'gemma2',
    head_dim: 8,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 8,
    sliding_window: 8,
    attn_logit_softcapping: 50,
    final_logit_softcapping: 30,
    rope_theta: 10_000,
  },
  'Gemma 3': {
    ...SIZES,
    architectures: ['Gemma3ForCausalLM'],
    model_type: 'gemma3_text',
    head_dim: 8,
    hidden_act: 'gelu_pytorch_tanh',
    hidden_activation: 'gelu_pytorch_tanh',
    query_pre_attn_scalar: 8,
    sliding_window: 8,
    sliding_window_pattern: 2,
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    rope_theta: 1_000_000,
    rope_local_base_freq: 10_000,
    rms_norm_eps: 1e-6,
  },
} satisfies Record<string, Record<string, unknown>>

export const FAMILIES: [string, DecoderSpec][] = Object.entries(CONFIGS).map(([name, config]) => [
  name,
  specOf(config),
])

/** A random model with all options of a spec that the families above do not use. */
export const EVERY_OPTION: [string, DecoderSpec] = [
  'every option',
  {
    ...specOf(CONFIGS.Qwen3),
    layers: 3,
    activation: 'gelu-tanh',
    unitOffsetNorms: true,
    postNorms: true,
    embeddingScale: 4,
    attentionScale: 0.3,
    attentionSoftCap: 5,
    logitSoftCap: 3,
    // The second layer is full. The third is the last, which training computes for segments alone.
    local: { window: 3, layers: [0, 2], ropeFrequencies: [1, 0.2, 0.04, 0.008] },
  },
]

/** Low-rank adapters on a frozen model, with its biases and norms. */
export const ADAPTED: [string, DecoderSpec] = [
  'LoRA',
  {
    ...specOf(CONFIGS['Qwen2.5']),
    adapter: { rank: 3, alpha: 6, targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'down_proj'] },
  },
]
