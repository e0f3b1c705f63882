// Rotary frequencies from config.json, in either of its layouts: `rope_theta` with `rope_scaling`, or `rope_parameters`
// (Transformers 5). Supports plain frequencies (Su et al. 2021), linearly scaled ones, and Llama 3.1's scaling.
//
// Rounds to F32 where PyTorch does: models were trained with these angles, and the difference matters at positions
// around ten thousand.

import { WaggleError } from '../../../protocol/errors.ts'
import { type HuggingFaceConfig, positiveNumber, requireValue, show } from './architecture.ts'

const TYPES = ['default', 'linear', 'llama3']
/** Every setting that these types have. Any other setting means a different computation. */
const KEYS = new Set([
  'rope_type',
  'type',
  'rope_theta',
  'factor',
  'low_freq_factor',
  'high_freq_factor',
  'original_max_position_embeddings',
  'partial_rotary_factor',
])

/** headWidth / 2 inverse frequencies in radians per token. Throws E_MODEL for a type that is not supported. */
export function ropeFrequencies(config: HuggingFaceConfig, headWidth: number): number[] {
  const key = isGiven(config.rope_scaling) ? 'rope_scaling' : 'rope_parameters'
  const rope = settingsOf(config, key)
  const type = rope.rope_type ?? rope.type ?? 'default'
  if (!TYPES.includes(type as string)) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: "${key}" has the type ${show(type)}, which is not supported`,
      {
        hint: `RoPE types supported here: ${TYPES.join(', ')}.`,
      },
    )
  }
  for (const name of Object.keys(rope)) {
    if (!KEYS.has(name) && isGiven(rope[name])) {
      throw new WaggleError('E_MODEL', `config.json: "${key}" has ${show(name)}, which is not supported`, {
        hint: `RoPE types supported here: ${TYPES.join(', ')}.`,
      })
    }
  }
  for (const place of [rope, config]) requireValue(place, 'partial_rotary_factor', 1)
  const theta = rope.rope_theta ?? settingsOf(config, 'rope_parameters').rope_theta ?? config.rope_theta
  const plain = plainFrequencies(positiveNumber({ rope_theta: theta }, 'rope_theta', 10_000), headWidth)
  if (type === 'llama3') return scaledFrequencies(plain, rope)
  if (type === 'default') return plain
  // Positions are divided by the factor (Chen et al. 2023).
  const factor = positiveNumber(rope, 'factor')
  return plain.map((frequency) => Math.fround(frequency / factor))
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function settingsOf(config: HuggingFaceConfig, key: string): HuggingFaceConfig {
  const value = config[key] ?? {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new WaggleError('E_MODEL', `config.json: "${key}" must be an object, it is ${show(value)}`)
  }
  return value as HuggingFaceConfig
}

/** theta^(-2i / headWidth), unscaled. */
export function plainFrequencies(theta: number, headWidth: number): number[] {
  return Array.from({ length: headWidth / 2 }, (_, i) =>
    Math.fround(1 / Math.fround(theta ** Math.fround((2 * i) / headWidth))),
  )
}

/**
 * Llama 3.1's context extension: wavelengths above `original / low` tokens are stretched by `factor`, those below
 * `original / high` stay as they are, and those in between are blended. Grattafiori et al. 2024, and its code.
 */
export function scaledFrequencies(frequencies: readonly number[], rope: HuggingFaceConfig): number[] {
  const factor = positiveNumber(rope, 'factor')
  const low = positiveNumber(rope, 'low_freq_factor')
  const high = positiveNumber(rope, 'high_freq_factor')
  const original = positiveNumber(rope, 'original_max_position_embeddings')
  if (high <= low) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: "high_freq_factor" ${high} must be above "low_freq_factor" ${low}`,
    )
  }
  return frequencies.map((frequency) => {
    const waves = (original * frequency) / (2 * Math.PI)
    const kept = Math.min(1, Math.max(0, (waves - low) / (high - low)))
    return Math.fround(((1 - kept) * frequency) / factor + kept * frequency)
  })
}
