// What a model family must say about itself: how its `config.json` reads as a decoder. A family refuses, by name, every
// setting that would change the computation in a way it does not follow; what it does not read cannot matter.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'

export interface Architecture {
  /** As in the `architectures` field of config.json. */
  name: string
  /** As in its `model_type` field, which is read where `architectures` is missing. */
  modelType: string
  /** Published models that have it, for people. */
  models: string
  /** Reads a parsed config.json. Throws E_MODEL for what the family does not support here. */
  spec(config: HuggingFaceConfig): DecoderSpec
}

export type HuggingFaceConfig = Record<string, unknown>

/** A whole number from 1 to `most`. */
export function wholeNumber(
  config: HuggingFaceConfig,
  key: string,
  { fallback, most = 2 ** 24 }: { fallback?: number; most?: number } = {},
): number {
  const value = config[key] ?? fallback
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: "${key}" must be a positive whole number of at most ${most}, it is ${show(value)}`,
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
    hint: allowed.length === 0 ? 'Supported here: none.' : `Supported here: ${allowed.map(show).join(', ')}.`,
  })
}

/** A value of a file that may be anyone's, short and inert. */
export function show(value: unknown): string {
  return safeText(JSON.stringify(value) ?? 'missing', { limit: 60, line: true })
}
