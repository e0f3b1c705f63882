// Sampling settings of `waggle chat` and `waggle generate`: the options, else the model's generation_config.json.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Sampling } from '../../engine/engine.ts'
import { chatDefaults, generationDefaults } from '../../policy/files/generation-defaults.ts'
import type { StoredModel } from '../../policy/model.ts'
import type { Context } from '../contract.ts'

export interface Asked extends Sampling {
  seed: number
  maxNewTokens: number
  stopStrings: readonly string[]
}

const DEFAULT_TOKENS = 256

export function samplingOf(
  { options, io }: Context,
  { files }: StoredModel,
  { isChat = false }: { isChat?: boolean } = {},
): Asked {
  const number = (name: string, from: number, to: number, whole = false): number | undefined => {
    const word = options[name] as string | undefined
    if (word === undefined) return undefined
    const value = word.trim() === '' ? Number.NaN : Number(word)
    if (value >= from && value <= to && (!whole || Number.isInteger(value))) return value
    const kind = whole ? 'a whole number' : 'a number'
    throw new WaggleError('E_USAGE', `--${name} must be ${kind} from ${from} to ${to}, not "${word}"`)
  }
  const temperature = number('temperature', 0, 5)
  const topP = number('top-p', 1e-6, 1)
  const minP = number('min-p', 0, 1)
  const topK = number('top-k', 1, 2 ** 24, true)
  return {
    ...(isChat ? chatDefaults : generationDefaults)(files.generation),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(topK === undefined ? {} : { topK }),
    ...(minP === undefined ? {} : { minP }),
    seed: number('seed', 0, 2 ** 32 - 1, true) ?? io.clock() % 2 ** 32,
    maxNewTokens: number('max-tokens', 1, 2 ** 20, true) ?? DEFAULT_TOKENS,
    stopStrings: ((options.stop as string[] | undefined) ?? []).filter((text) => text !== ''),
  }
}

/** The text of each token, only if stop strings need it: for a large vocabulary, this takes a moment. */
export function piecesFor({ stopStrings }: Asked, { tokenizer, spec }: StoredModel): { pieces?: string[] } {
  return stopStrings.length > 0 ? { pieces: tokenizer.pieces(spec.vocabulary) } : {}
}
