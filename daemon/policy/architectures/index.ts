// The model families that can be sampled and trained here.

import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'
import type { Architecture, HuggingFaceConfig } from './architecture.ts'
import { gemma2 } from './gemma2.ts'
import { gemma3 } from './gemma3.ts'
import { llama } from './llama.ts'
import { qwen2 } from './qwen2.ts'
import { qwen3 } from './qwen3.ts'

const ARCHITECTURES: readonly Architecture[] = [llama, qwen2, qwen3, gemma2, gemma3]

/** The decoder that a config.json describes. Throws E_MODEL for a family or setting that is not supported. */
export function specOf(config: HuggingFaceConfig): DecoderSpec {
  const names = Array.isArray(config.architectures) ? config.architectures.slice(0, 8).map(String) : []
  const architecture = ARCHITECTURES.find(({ name, modelType }) =>
    names.length > 0 ? names.includes(name) : modelType === config.model_type,
  )
  if (architecture) return architecture.spec(config)
  const found =
    names.join(', ') || (typeof config.model_type === 'string' && config.model_type) || 'not given'
  throw new WaggleError(
    'E_MODEL',
    `config.json: the architecture is ${safeText(found, { limit: 120, line: true })}, which is not supported`,
    { hint: `Supported here: ${ARCHITECTURES.map(({ name, models }) => `${name} (${models})`).join(', ')}.` },
  )
}
