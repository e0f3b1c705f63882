// A model family: how to turn its `config.json` into a decoder spec. A family refuses, by name, every setting that
// would change the computation in a way that is not implemented. Settings that it does not read have no effect on the
// model.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'

export interface Architecture {
  /** As in the `architectures` field of config.json. */
  name: string
  /** As in the `model_type` field of config.json, which is used if `architectures` is missing. */
  modelType: string
  /** Published models of this family, for messages. */
  models: string
  /** Reads a parsed config.json. Throws E_MODEL for settings that are not supported here. */
  spec(config: HuggingFaceConfig): DecoderSpec
}

export type HuggingFaceConfig = Record<string, unknown>

/** A whole number from 1 to `most`. Throws E_MODEL otherwise. */
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

/** Throws E_MODEL if a setting is given and its value is not allowed. */
export function requireValue(config: HuggingFaceConfig, key: string, ...allowed: unknown[]): void {
  const value = config[key]
  if (value === undefined || value === null || allowed.includes(value)) return
  throw new WaggleError('E_MODEL', `config.json: "${key}" is ${show(value)}, which is not supported`, {
    hint: allowed.length === 0 ? 'Supported here: none.' : `Supported here: ${allowed.map(show).join(', ')}.`,
  })
}

/** A value from an untrusted file, shortened and made safe to print. */
export function show(value: unknown): string {
  return safeText(JSON.stringify(value) ?? 'missing', { limit: 60, line: true })
}
