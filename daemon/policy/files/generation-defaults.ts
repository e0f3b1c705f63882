// The sampling settings that generation_config.json recommends. `waggle chat`, `waggle generate` and served calls use
// them. Rollouts are sampled from the policy itself, because training uses its log-probs.

import type { Sampling } from '../../engine/engine.ts'
import type { JsonObject } from './model-files.ts'

const SETTINGS = ['do_sample', 'temperature', 'top_k', 'top_p', 'min_p']

function recommendsSampling(file: JsonObject | undefined): boolean {
  return SETTINGS.some((key) => file?.[key] !== undefined)
}

/**
 * For a chat with a model that recommends no settings, such as a GGUF file: at temperature 1, a small model talks
 * nonsense. The values are near those that the publishers of SmolLM2 and Llama recommend.
 */
const CHAT: Sampling = { temperature: 0.6, topP: 0.9 }

export function chatDefaults(file: JsonObject | undefined): Sampling {
  return recommendsSampling(file) ? generationDefaults(file) : CHAT
}

/** Ignores invalid settings. Without a file: temperature 1, no truncation. */
export function generationDefaults(file: JsonObject | undefined): Sampling {
  const number = (key: string, from: number, to: number): number | undefined => {
    const value = file?.[key]
    return typeof value === 'number' && value >= from && value <= to ? value : undefined
  }
  const topK = number('top_k', 1, 2 ** 24)
  const topP = number('top_p', Number.MIN_VALUE, 1)
  const minP = number('min_p', Number.MIN_VALUE, 1)
  return {
    temperature: file?.do_sample === false ? 0 : (number('temperature', 0, 5) ?? 1),
    ...(topK === undefined || !Number.isInteger(topK) ? {} : { topK }),
    ...(topP === undefined ? {} : { topP }),
    ...(minP === undefined ? {} : { minP }),
  }
}
