// A round without plugins: generates completions for the given prompts and verifies each.

import type { Ask } from '../../../protocol/plugin/index.ts'
import type { Sampler } from '../../engine/engine.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { type LandingOptions, land } from './landing.ts'
import { makeOrder } from './orders.ts'
import { beginSequence } from './sequence.ts'
import { type WriteOptions, writeSequences } from './write.ts'

export interface AnswerOptions extends Omit<WriteOptions, 'context'>, LandingOptions {
  asks: readonly Ask[]
  /**
   * Maximum number of tokens of conditioning and completion together. Default: unlimited, but then the sampler may
   * refuse.
   */
  context?: number
  /** Sampling seed of a rollout, by its index in the round. */
  sampleSeed(index: number): number
}

/** Returns groups in the order of the asks. Aborted sequences are left out, as are groups that have no others. */
export async function generateRound(
  { asks, context = Number.POSITIVE_INFINITY, ...given }: AnswerOptions,
  by: { sampler: Sampler; tokenizer: Tokenizer; tasks: TaskBook },
) {
  const options = { ...given, context }
  let index = 0
  const written = []
  for (const ask of asks) {
    const order = (await makeOrder(ask, undefined, options, by))!
    const sequences = Array.from({ length: ask.rollouts }, () =>
      beginSequence(order, options.sampleSeed(index++)),
    )
    written.push({ order, sequences })
  }
  const tokens = await writeSequences(
    written.flatMap(({ sequences }) => sequences),
    options,
    by,
  )
  return { tokens, groups: written.flatMap((one) => land([one], options, by.tokenizer) ?? []) }
}
