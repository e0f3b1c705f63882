// The families that can be run and trained here.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'
import type { Architecture, HuggingFaceConfig } from './architecture.ts'
import { llama } from './llama.ts'

export const ARCHITECTURES: readonly Architecture[] = [llama]

/** The decoder that a config.json describes. */
export function specOf(config: HuggingFaceConfig): DecoderSpec {
  const names = Array.isArray(config.architectures) ? config.architectures.map(String) : []
  const architecture = ARCHITECTURES.find(({ name }) => names.includes(name))
  if (!architecture) {
    throw new WaggleError(
      'E_MODEL',
      `config.json: the architecture is ${names.join(', ') || 'not given'}, which is not supported`,
      {
        hint: `Supported here: ${ARCHITECTURES.map(({ name }) => name).join(', ')}.`,
      },
    )
  }
  return architecture.spec(config)
}
