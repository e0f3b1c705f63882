// What a node gives its plugins, whoever puts the node together.

import type { Need } from '../../../protocol/plugin/index.ts'
import type { PluginHostOptions } from '../../host/contract.ts'
import type { TaskBook } from '../tasks.ts'

/** The plugin needs that a node with these tasks meets. `isRecurring`: it has a fixed set of prompts. */
export function offersOf(
  chosen: TaskBook['chosen'],
  { isRecurring }: { isRecurring: boolean },
): ReadonlySet<Need> {
  const offers = new Set<Need>(['score', 'park'])
  if (isRecurring) offers.add('recurring')
  if (chosen.some(({ task }) => task.environment !== undefined)) offers.add('episodes')
  if (chosen.some(({ task, difficulty }) => task.generate({ seed: 0, difficulty }).steps.length > 0))
    offers.add('privileged')
  return offers
}

/** The corrections that are asked for, and the bound on age that every node has. */
export function boundedByAge(
  corrections: PluginHostOptions['corrections'],
  maxStaleness: number,
): PluginHostOptions['corrections'] {
  return [...corrections, { use: 'staleness', bound: maxStaleness }]
}
