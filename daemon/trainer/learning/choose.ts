// Chooses the next batch among the groups that wait.

import type { Group } from '../../../protocol/train/index.ts'
import { chooseBatch } from '../batch/batch.ts'
import { filledBatch } from '../batch/batch-size.ts'
import type { Batch } from './contract.ts'
import { type Inside, stepsWithoutOwn } from './inside.ts'

/** Undefined while no batch is due. */
export function choose(
  waiting: { own: readonly Group[]; foreign: readonly Group[] },
  inside: Inside,
): Batch | undefined {
  const { options, parts, record, weights, mix, state } = inside
  const { foreign, learn, compare } = record.judge.next()
  const usable = waiting.foreign.filter(({ author }) => !record.authors.isSetAside(author))
  state.hasMet ||= waiting.foreign.length > 0
  // After a restart, the pool holds own groups from before it.
  if (mix.tokens === undefined) for (const group of waiting.own) mix.add(group)
  const { version } = parts.policy.reference()
  const { own, due = own } = options.settings().sizes
  const filled = filledBatch(own, learn ? weights.equalsAmong(usable) : 0)
  const isFilled = options.adaptive && foreign >= filled.foreign
  const groups = chooseBatch(
    { own: waiting.own, foreign: usable },
    {
      ...{ own, foreign, due, mayLackOwn: learn && stepsWithoutOwn(inside) },
      ...(isFilled && filled),
    },
    {
      ...{ random: parts.random(`batch/${version}`), mix, isKnown: weights.isKnown },
      weightOf: learn ? weights.weightOf : () => 0,
    },
  )
  return groups && { groups, learnForeign: learn, compare: compare && state.hasMet }
}
