// What a model family must say about itself: how its `config.json` reads as a decoder.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'

export interface Architecture {
  /** As in the `architectures` field of config.json. */
  name: string
  /** Reads a parsed config.json. Throws E_MODEL for what the family does not support here. */
  spec(config: HuggingFaceConfig): DecoderSpec
}

export type HuggingFaceConfig = Record<string, unknown>

export function wholeNumber(config: HuggingFaceConfig, key: string, fallback?: number): number {
  const value = config[key] ?? fallback
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 2 ** 31) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: "${key}" must be a positive whole number, it is ${show(value)}`,
    )
  }
  return value
}

export function positiveNumber(config: HuggingFaceConfig, key: string, fallback?: number): number {
  const value = config[key] ?? fallback
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) {
    throw new WaggleError('E_MODEL', `config.json: "${key}" must be a positive number, it is ${show(value)}`)
  }
  return value
}

/** Refuses settings that would change the computation and that this family does not know how to follow. */
export function requireValue(config: HuggingFaceConfig, key: string, ...allowed: unknown[]): void {
  const value = config[key]
  if (value === undefined || value === null || allowed.includes(value)) return
  throw new WaggleError('E_MODEL', `config.json: "${key}" is ${show(value)}, which is not supported`, {
    hint: `Supported here: ${allowed.map(show).join(', ')}.`,
  })
}

/** theta^(-2i/width), unscaled. */
export function plainFrequencies(theta: number, headWidth: number): number[] {
  return Array.from({ length: headWidth / 2 }, (_, i) => theta ** ((-2 * i) / headWidth))
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
