// A round without plugins: given prompts are answered and verified, each answer once.

import type { Ask } from '../../protocol/plugin/index.ts'
import type { Engine } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'
import { type LandingOptions, land } from './landing.ts'
import { makeOrder } from './orders.ts'
import { beginSequence } from './sequence.ts'
import type { TaskBook } from './tasks.ts'
import { type WriteOptions, writeSequences } from './write.ts'

export interface AnswerOptions extends Omit<WriteOptions, 'context'>, LandingOptions {
  asks: readonly Ask[]
  /** Most tokens that conditioning and completion may have together; the engine refuses more if left out. */
  context?: number
  /** Seed of a rollout's sampling, by its place in the round. */
  sampleSeed(index: number): number
}

/** Groups in the order of the asks. Aborted sequences are left out, and so are groups that lose all of theirs. */
export async function generateRound(
  { asks, context = Number.POSITIVE_INFINITY, ...given }: AnswerOptions,
  by: { engine: Engine; tokenizer: Tokenizer; tasks: TaskBook },
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
