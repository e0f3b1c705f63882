// config.json as a decoder: every family as its publisher writes it, and each setting that cannot be followed.

import { expect, test } from 'vitest'
import { parameterCount, parameterShapes } from '../../daemon/engine/decoder.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { readSizes } from '../../daemon/policy/architectures/sizes.ts'
import type { WaggleError } from '../../protocol/errors.ts'
import { CONFIGS } from '../conformance/families.ts'

const SCALING = {
  rope_type: 'llama3',
  factor: 32,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 8192,
}

function refusal(config: Record<string, unknown>): string {
  try {
    specOf(config)
  } catch (error) {
    expect(error).toMatchObject({ code: 'E_MODEL' })
    return `${(error as WaggleError).message} ${(error as WaggleError).hint ?? ''}`
  }
  return 'accepted'
}

test.each([
  // Sizes of the published config.json files, parameters as the model cards count them.
  [
    'Llama-3.2-1B',
    1_235_814_400,
    {
      ...CONFIGS['Llama 3.2'],
      vocab_size: 128_256,
      hidden_size: 2048,
      num_hidden_layers: 16,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      head_dim: 64,
      intermediate_size: 8192,
      max_position_embeddings: 131_072,
      rope_theta: 500_000,
      rope_scaling: SCALING,
    },
  ],
  [
    'SmolLM2-360M',
    361_821_120,
    {
      ...CONFIGS.SmolLM2,
      vocab_size: 49_152,
      hidden_size: 960,
      num_hidden_layers: 32,
      num_attention_heads: 15,
      num_key_value_heads: 5,
      intermediate_size: 2560,
    },
  ],
  [
    'Qwen2.5-0.5B',
    494_032_768,
    {
      ...CONFIGS['Qwen2.5'],
      vocab_size: 151_936,
      hidden_size: 896,
      num_hidden_layers: 24,
      num_attention_heads: 14,
      num_key_value_heads: 2,
      intermediate_size: 4864,
      tie_word_embeddings: true,
    },
  ],
  [
    'Qwen3-0.6B',
    596_049_920,
    {
      ...CONFIGS.Qwen3,
      vocab_size: 151_936,
      hidden_size: 1024,
      num_hidden_layers: 28,
      num_attention_heads: 16,
      num_key_value_heads: 8,
      head_dim: 128,
      intermediate_size: 3072,
    },
  ],
])('%s has %d parameters', (_, count, config) => {
  expect(parameterCount(specOf(config))).toBe(count)
})

test('families differ in biases and norms, and heads have the width that the file says', () => {
  const qwen2 = specOf(CONFIGS['Qwen2.5'])
  expect(parameterShapes(qwen2).get('model.layers.0.self_attn.k_proj.bias')).toEqual([4])
  expect(parameterShapes(qwen2).has('model.layers.0.self_attn.o_proj.bias')).toBe(false)
  const qwen3 = specOf(CONFIGS.Qwen3)
  expect(parameterShapes(qwen3).get('model.layers.0.self_attn.q_norm.weight')).toEqual([8])
  expect(parameterShapes(qwen3).get('model.layers.0.self_attn.o_proj.weight')).toEqual([16, 32])
  const llama = specOf(CONFIGS['Llama 2'])
  expect(parameterShapes(llama).get('lm_head.weight')).toEqual([23, 16])
  expect(specOf({ ...CONFIGS['Llama 2'], num_key_value_heads: null })).toEqual(llama)
})

test("Llama 3's frequencies: short waves stay, long ones are slowed down, some lie between", () => {
  const sizes = {
    ...CONFIGS['Llama 2'],
    hidden_size: 2048,
    num_attention_heads: 32,
    head_dim: 64,
    rope_theta: 5e5,
  }
  const plain = specOf(sizes).ropeFrequencies
  const scaled = specOf({ ...sizes, rope_scaling: SCALING }).ropeFrequencies
  // Wavelengths: 6 tokens; 4,900 tokens, between 8192 / 4 and 8192; two million tokens.
  expect(scaled[0]).toBe(1)
  expect(2 * Math.PI * (1 / plain[16]!)).toBeCloseTo(4442.9, 0)
  const kept = (8192 / ((2 * Math.PI) / plain[16]!) - 1) / 3
  expect(scaled[16]! / plain[16]!).toBeCloseTo((1 - kept) / 32 + kept, 6)
  expect(scaled[31]! / plain[31]!).toBeCloseTo(1 / 32, 6)
})

test('the new layout of rotary settings means the same as the old one', () => {
  const { rope_theta, rope_scaling, ...rest } = CONFIGS['Llama 3.2']
  const old = specOf(CONFIGS['Llama 3.2'])
  expect(specOf({ ...rest, rope_parameters: { rope_theta, ...rope_scaling } })).toEqual(old)
  const { rope_type: type, ...numbers } = rope_scaling
  expect(specOf({ ...rest, rope_theta, rope_scaling: { type, ...numbers } })).toEqual(old)
  const plain = { ...CONFIGS.Qwen3, rope_scaling: null, rope_theta: undefined }
  expect(specOf({ ...plain, rope_parameters: { rope_theta: 1e6, rope_type: 'default' } })).toEqual(
    specOf(CONFIGS.Qwen3),
  )
})

test('a file without "architectures" is known by its "model_type"', () => {
  expect(specOf({ ...CONFIGS.Qwen3, architectures: undefined })).toEqual(specOf(CONFIGS.Qwen3))
})

test.each([
  [
    { architectures: ['MixtralForCausalLM'] },
    /MixtralForCausalLM.*LlamaForCausalLM.*Qwen2ForCausalLM.*Qwen3ForCausalLM/,
  ],
  [{ architectures: undefined, model_type: 'mamba' }, /mamba, which is not supported.*SmolLM2/],
  [{ architectures: undefined, model_type: undefined }, /not given, which is not supported/],
  [{ architectures: ['\u001b[2J\u202eevil'.repeat(50)] }, /^[^\u001b\u202e]*$/],
  [
    { rope_scaling: { rope_type: 'yarn', factor: 4 } },
    /"rope_scaling" has the type "yarn".*default, linear, llama3/,
  ],
  [{ rope_scaling: { type: 'linear', factor: 0 } }, /"factor" must be a positive number, it is 0/],
  [{ rope_scaling: { type: 'dynamic', factor: 2 } }, /the type "dynamic"/],
  [{ rope_parameters: { rope_type: 'longrope' } }, /"rope_parameters" has the type "longrope"/],
  [{ rope_parameters: { full_attention: { rope_theta: 1 } } }, /"rope_parameters" has "full_attention"/],
  [{ rope_parameters: { partial_rotary_factor: 0.5 } }, /"partial_rotary_factor" is 0.5/],
  [{ rope_scaling: 'llama3' }, /"rope_scaling" must be an object/],
  [{ rope_scaling: { ...SCALING, factor: 0 } }, /"factor" must be a positive number, it is 0/],
  [{ rope_scaling: { ...SCALING, high_freq_factor: 1 } }, /"high_freq_factor" 1 must be above/],
  [{ rope_theta: -1 }, /"rope_theta" must be a positive number, it is -1/],
  [{ hidden_act: 'gelu_pytorch_tanh' }, /"hidden_act" is "gelu_pytorch_tanh".*"silu"/],
  [{ attention_bias: true }, /"attention_bias" is true.*false/],
  [{ mlp_bias: true }, /"mlp_bias" is true/],
  [{ rope_interleaved: true }, /"rope_interleaved" is true/],
  [{ tie_word_embeddings: 'yes' }, /"tie_word_embeddings" is "yes".*true, false/],
  [{ architectures: ['Qwen2ForCausalLM'], use_mrope: true }, /"use_mrope" is true/],
  [{ use_sliding_window: true }, /"use_sliding_window" is true/],
  [{ layer_types: ['full_attention', 'sliding_attention'] }, /"layer_types" has "sliding_attention"/],
  [{ quantization_config: { quant_method: 'gptq' } }, /"quantization_config" is .*gptq/],
  [{ num_key_value_heads: 3 }, /4 query heads cannot share 3 key heads/],
  [{ num_attention_heads: 5, num_key_value_heads: 5 }, /"head_dim" must be .* it is 3.2/],
  [{ head_dim: 7 }, /head width 7 is odd/],
  [{ vocab_size: 1e12 }, /"vocab_size" must be .* at most 16777216/],
  [{ num_hidden_layers: 1e6 }, /"num_hidden_layers" must be .* at most 1024/],
])('what cannot be followed is refused by name: %j', (change, message) => {
  expect(refusal({ ...CONFIGS['Llama 2'], ...change })).toMatch(message)
})

test('a family with sliding windows and another activation reads both from the config', () => {
  const config = {
    ...CONFIGS.Qwen3,
    hidden_act: 'gelu_pytorch_tanh',
    sliding_window: 8,
    layer_types: ['sliding_attention', 'full_attention'],
  }
  const options = { activation: 'gelu-tanh', hasLocalLayers: true } as const
  expect(readSizes(config, options)).toMatchObject({
    activation: 'gelu-tanh',
    local: { window: 8, layers: [0] },
  })
  expect(() => readSizes(config)).toThrow(/hidden_act/)
  for (const broken of [{ layer_types: ['full_attention'] }, { sliding_window: 0 }, { layer_types: null }])
    expect(() => readSizes({ ...config, ...broken }, options)).toThrow(/layer_types|sliding_window/)
})
