// Summarises agents' rollouts in one line, for the terminal UI and `waggle status`.

import type { AgentsInfo } from '../snapshot/index.ts'
import { count, decimal } from './format.ts'

export function agentsText({
  open,
  rewarded,
  groups,
  begun,
  rows,
  split = 0,
  undelivered = { answers: 0, tokens: 0 },
  dropped,
  unkept = {},
  reward,
  evalReward,
  environments = [],
}: AgentsInfo): string {
  const told = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([what, times]) => `${count(times)} ${what}`)
      .join(', ')
  return [
    // First, because a narrow window cuts off the rest.
    ...environments.flatMap(({ trouble }) => (trouble === undefined ? [] : [`! ${trouble}`])),
    `${count(open)} open`,
    `${count(rewarded)} rewarded`,
    `${count(groups)} groups${begun > 0 ? ` + ${count(begun)} begun` : ''}`,
    ...(rows === 0 ? [] : [`${count(rows)} rows${split > 0 ? ` (${count(split)} rollouts split)` : ''}`]),
    ...(reward === undefined ? [] : [`reward ${decimal(reward)}`]),
    ...(evalReward === undefined ? [] : [`eval ${decimal(evalReward)}`]),
    ...(undelivered.answers === 0
      ? []
      : [`not delivered: ${count(undelivered.answers)} answers of ${count(undelivered.tokens)} tokens`]),
    ...(told(dropped) === '' ? [] : [`dropped: ${told(dropped)}`]),
    ...(told(unkept) === '' ? [] : [`not kept: ${told(unkept)}`]),
    'not shared',
  ].join('  ')
}
